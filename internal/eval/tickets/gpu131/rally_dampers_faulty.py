"""Shakedown of the dampers of a desert rally truck before the long stages.

A batch of rides over random dune and camel-grass profiles is filtered through the impulse response of the
suspension, which gives the travel of the damper along each ride. Every leg of the shakedown ends with the
peaks of its rides, and from these and the roughness of the ground just passed the valving for the next leg
is chosen.

ticket: practice
class: app-leak
holder: travels
cause: results-kept
"""
import math
import os
import time
from collections import deque

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 12
LEG_ROUNDS = 24
GROUND_SECONDS = 4
RIDES = 64
SAMPLES = 2048
TAPS = 65
TRAVEL_LIMIT = 0.5


class Ground:
    """Random profiles of sand with dunes, washboard and clumps of camel grass."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.distance = torch.linspace(0.0, 1.0, SAMPLES, device=DEVICE)
        self.passed = deque(maxlen=GROUND_SECONDS * ROUNDS_PER_SECOND)

    def next_profiles(self):
        dunes = torch.rand(RIDES, 1, generator=self.generator, device=DEVICE) * 9.0 + 3.0
        profiles = torch.sin(2.0 * math.pi * dunes * self.distance)
        grass = torch.randn(RIDES, SAMPLES, generator=self.generator, device=DEVICE)
        profiles.add_(grass, alpha=0.3)
        self.passed.append(profiles)
        return profiles

    def roughness(self):
        latest = list(self.passed)[-ROUNDS_PER_SECOND:]
        return sum(float(profiles.std()) for profiles in latest) / max(1, len(latest))


class Damper:
    """Impulse response of one corner of the truck, with a valving that can be set between legs."""

    def __init__(self, stiffness=30.0, valving=0.25):
        self.stiffness = stiffness
        self.valving = valving
        self.response = None
        self.build()

    def build(self):
        lags = torch.arange(TAPS, device=DEVICE, dtype=torch.float32) / TAPS
        decay = torch.exp(-lags * self.stiffness * self.valving)
        self.response = (decay * torch.cos(lags * self.stiffness) / 6.0).view(1, 1, TAPS)

    def set_valving(self, valving):
        self.valving = min(0.9, max(0.1, valving))
        self.build()

    def ride(self, profiles):
        padded = F.pad(profiles, (TAPS - 1, 0)).unsqueeze(1)
        return F.conv1d(padded, self.response).squeeze(1)  # grows


class Shakedown:
    """Rides the ground leg after leg and sets the damper from what the rides showed."""

    def __init__(self, ground, damper):
        self.ground = ground
        self.damper = damper
        self.travels = []
        self.legs = 0
        self.last_peak = 0.0
        self.bottomed = 0

    def ride_once(self):
        travel = self.damper.ride(self.ground.next_profiles())
        self.travels.append(travel)  # keeps
        self.bottomed += int((travel.abs().amax(dim=1) > TRAVEL_LIMIT).sum())

    def close_leg(self):
        leg = self.travels[-LEG_ROUNDS:]
        peaks = torch.stack([travel.abs().amax(dim=1) for travel in leg])
        self.last_peak = float(peaks.quantile(0.9))
        self.legs += 1
        rough = self.ground.roughness()
        wanted = self.last_peak / TRAVEL_LIMIT - 1.0
        self.damper.set_valving(self.damper.valving + 0.05 * wanted * rough)


def main():
    torch.set_num_threads(1)
    shakedown = Shakedown(Ground(seed=41), Damper())
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        shakedown.ride_once()
        rounds += 1
        if rounds % LEG_ROUNDS == 0:
            shakedown.close_leg()
            print(f"leg {shakedown.legs:3d}  peak travel {shakedown.last_peak:.2f}  "
                  f"valving {shakedown.damper.valving:.3f}  bottomed {shakedown.bottomed}", flush=True)
        due = started + rounds / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"shakedown done: {shakedown.legs} legs, {rounds} rides, valving {shakedown.damper.valving:.3f}", flush=True)


if __name__ == "__main__":
    main()
