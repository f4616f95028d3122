"""An icebreaker rams a pressure ridge, backs off and rams again.

Each round works out the ice pressure on the plates of the bow from the ship's speed and the thickness of the ridge.
When the bow is fast in the ridge, the ice ahead is solved on a fine grid for about two seconds, until the ship is
free. Every three seconds the bridge gets a summary of the plate loads.

ticket: practice
class: none
"""
import math
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 5
SUMMARY_ROUNDS = 3 * ROUNDS_PER_SECOND
CYCLE_ROUNDS = 7 * ROUNDS_PER_SECOND
STUCK_FROM = 3 * ROUNDS_PER_SECOND
STUCK_ROUNDS = 2 * ROUNDS_PER_SECOND
FRAMES, STRINGERS = 512, 614
FINE = 2560


class Ridge:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.thickness = 4.0

    def next_face(self):
        self.thickness = min(9.0, max(2.0, self.thickness + self.random.gauss(0.0, 0.6)))


class FineIce:
    """Stress and damage of the ice ahead, while the bow is fast in it."""

    def __init__(self, thickness):
        self.layers = torch.full((8, FINE, FINE), thickness, device=DEVICE)

    def relax(self):
        edge = self.layers[:, :64]
        edge.mul_(0.97)
        return float(edge.mean())


class Bow:
    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.stiffness = 1.0 + 0.1 * torch.randn(FRAMES, STRINGERS, device=DEVICE, generator=generator)
        height = torch.linspace(-1.0, 1.0, FRAMES, device=DEVICE)[:, None]
        along = torch.linspace(0.0, 1.0, STRINGERS, device=DEVICE)[None, :]
        self.contact = torch.exp(-6.0 * height * height) * torch.exp(-3.0 * along)

    def pressure(self, speed, thickness):
        return self.contact * self.stiffness * (speed * speed * thickness)


class Bridge:
    def __init__(self, bow, ridge):
        self.bow = bow
        self.ridge = ridge
        self.fine = None
        self.plate_loads = []
        self.speed = 0.0
        self.distance = 0.0
        self.rams = 0

    def steam(self, phase):
        if phase < STUCK_FROM:
            self.speed = 5.0 * math.sin(0.5 * math.pi * (phase + 1) / STUCK_FROM)
        elif phase < STUCK_FROM + STUCK_ROUNDS:
            self.speed = 0.2
        else:
            self.speed = 1.5
        self.distance += self.speed / ROUNDS_PER_SECOND

    def ice_ahead(self, phase):
        if phase == STUCK_FROM:
            self.rams += 1
            self.fine = FineIce(self.ridge.thickness)
        elif phase == STUCK_FROM + STUCK_ROUNDS:
            self.fine = None
            self.ridge.next_face()
        if self.fine is not None:
            return self.fine.relax()
        return self.ridge.thickness

    def step(self, number):
        phase = number % CYCLE_ROUNDS
        self.steam(phase)
        thickness = self.ice_ahead(phase)
        load = self.bow.pressure(self.speed, thickness)
        self.plate_loads.append(load)

    def summary(self):
        peaks = torch.stack([load.max() for load in self.plate_loads[-SUMMARY_ROUNDS:]])
        means = torch.stack([load.mean() for load in self.plate_loads[-SUMMARY_ROUNDS:]])
        self.plate_loads.clear()
        return float(peaks.max()), float(means.mean())


def main():
    torch.set_num_threads(1)
    bridge = Bridge(Bow(seed=3), Ridge(seed=11))
    start = time.monotonic()
    rounds = 0
    worst = 0.0
    while time.monotonic() - start < SECONDS:
        bridge.step(rounds)
        rounds += 1
        if rounds % SUMMARY_ROUNDS == 0:
            peak, mean = bridge.summary()
            worst = max(worst, peak)
            print(f"ram {bridge.rams}: peak {peak:.1f}, mean {mean:.2f}, made good {bridge.distance:.0f} m", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{bridge.rams} rams, worst plate load {worst:.1f}", flush=True)


if __name__ == "__main__":
    main()
