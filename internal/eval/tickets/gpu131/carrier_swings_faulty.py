"""Watch over the swing of cable car carriers in gusty wind.

Anemometers on the towers report the gusts met by each carrier. A small recurrent observer, calibrated at
the start of the day on made-up rides, follows the swing of all carriers at once and reads an angle from its
inner state. Where too many carriers lean too far the rope is slowed down, and it picks up speed again when
the wind drops.

ticket: practice
class: app-leak
holder: sway
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 10
CARRIERS = 512
SENSORS = 64
HIDDEN = 192
CALIBRATION_STEPS = 20
UNROLL = 5
LEAN_LIMIT = 0.3
FULL_SPEED = 7.0


class Anemometers:
    """Gusts at the carriers: a slow breeze with sharp puffs upon it."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.breeze = torch.zeros(CARRIERS, 1, device=DEVICE)

    def read(self):
        drift = torch.randn(CARRIERS, 1, generator=self.generator, device=DEVICE)
        self.breeze.mul_(0.96).add_(drift, alpha=0.2)
        gusts = torch.randn(CARRIERS, SENSORS, generator=self.generator, device=DEVICE)  # grows
        gusts.mul_(0.4).add_(self.breeze)
        return gusts


class SwayObserver(nn.Module):
    """Recurrent observer with one row of state for each carrier."""

    def __init__(self):
        super().__init__()
        self.wind = nn.Linear(SENSORS, HIDDEN)
        self.memory = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.lean = nn.Linear(HIDDEN, 1)
        self.sway = None
        self.reset()

    def reset(self):
        self.sway = torch.zeros(CARRIERS, HIDDEN, device=DEVICE)

    def advance(self, gusts):
        self.sway = torch.tanh(self.wind(gusts) + self.memory(self.sway))  # grows keeps

    def angles(self):
        return self.lean(self.sway).squeeze(1)


def calibrate(observer, anemometers):
    """Fits the observer on short rides whose lean follows the mean push of the last gusts."""
    optimizer = torch.optim.SGD(observer.parameters(), lr=0.05)
    loss = torch.zeros(())
    for _ in range(CALIBRATION_STEPS):
        observer.reset()
        pushed = torch.zeros(CARRIERS, device=DEVICE)
        for _ in range(UNROLL):
            gusts = anemometers.read()
            observer.advance(gusts)
            pushed = 0.7 * pushed + 0.1 * gusts.mean(dim=1)
        loss = (observer.angles() - pushed).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    observer.reset()
    return float(loss.detach())


class RopeDrive:
    """Speed of the haul rope, lowered while carriers lean too far."""

    def __init__(self):
        self.speed = FULL_SPEED
        self.slowdowns = 0

    def adjust(self, leaning):
        if leaning > CARRIERS // 5:
            self.speed = max(1.5, self.speed - 0.4)
            self.slowdowns += 1
        else:
            self.speed = min(FULL_SPEED, self.speed + 0.1)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    anemometers = Anemometers(seed=57)
    observer = SwayObserver().to(DEVICE)
    fit = calibrate(observer, anemometers)
    print(f"observer calibrated, error {fit:.4f}", flush=True)
    drive = RopeDrive()
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        gusts = anemometers.read()
        observer.advance(gusts)
        with torch.no_grad():
            angles = observer.angles().abs()
            leaning = int((angles > LEAN_LIMIT).sum())
        drive.adjust(leaning)
        rounds += 1
        if rounds % (2 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds:5d}  leaning {leaning:3d}  steepest {float(angles.max()):.2f}  "
                  f"rope {drive.speed:.1f} m/s", flush=True)
        due = started + rounds / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"watch ended: {rounds} rounds, {drive.slowdowns} slowdowns", flush=True)


if __name__ == "__main__":
    main()
