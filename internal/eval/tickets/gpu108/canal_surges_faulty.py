"""Watches the surges that run along a canal when its locks are emptied.

The level of the water is computed on a grid of the reach, ten times a second, by a shallow wave scheme. Levels of the
last fifteen seconds serve for the slow seiche of the reach. The wakes of passing barges, separated from the surge, are
looked at over the last few seconds only, to warn the lock keepers.

ticket: practice
class: app-leak
holder: wakes
cause: buffer-without-bound
"""
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LENGTH, BREADTH = 1024, 77
ROUNDS_PER_SECOND = 10
SEICHE_ROUNDS = 150
WAKE_WINDOW_MS = 3000
WARNING = 0.35


@dataclass
class Wake:
    seen: float
    heights: torch.Tensor


class Reach:
    """The water between two locks."""

    def __init__(self, rng):
        self.rng = rng
        self.level = torch.zeros(LENGTH, BREADTH, device=DEVICE)
        self.rate = torch.zeros(LENGTH, BREADTH, device=DEVICE)

    def empty_lock(self):
        self.rate[:24] += self.rng.uniform(0.2, 0.6)

    def pass_barge(self):
        along = self.rng.randrange(40, LENGTH - 40)
        self.level[along - 8:along + 8, 20:40] += self.rng.uniform(0.1, 0.3)

    def step(self):
        slope = torch.zeros_like(self.level)
        slope[1:-1] = self.level[2:] - 2 * self.level[1:-1] + self.level[:-2]
        self.rate.add_(slope, alpha=0.4).mul_(0.995)
        self.level.add_(self.rate, alpha=0.4)


class Watch:
    """What the keepers' office knows of the reach."""

    def __init__(self):
        self.levels = deque(maxlen=SEICHE_ROUNDS)
        self.wakes = deque()
        self.warnings = 0

    def observe(self, reach, now):
        level = reach.level.clone()
        self.levels.append(level)
        surge = level.mean(dim=1, keepdim=True)
        heights = level - surge  # grows
        self.wakes.append(Wake(now, heights))  # keeps
        horizon = now - WAKE_WINDOW_MS
        while self.wakes and self.wakes[0].seen < horizon:
            self.wakes.popleft()

    def highest_wake(self):
        latest = list(self.wakes)[-10:]
        return max(wake.heights.abs().max().item() for wake in latest)

    def seiche(self):
        """Difference of the ends of the reach, over the levels at hand."""
        first, last = self.levels[0], self.levels[-1]
        tilt = (last[:64].mean() - last[-64:].mean()) - (first[:64].mean() - first[-64:].mean())
        return tilt.item()

    def warn(self):
        if self.highest_wake() > WARNING:
            self.warnings += 1


class Traffic:
    """When locks are emptied and barges pass."""

    def __init__(self, reach, rng):
        self.reach = reach
        self.rng = rng
        self.lockages = 0
        self.barges = 0

    def move(self):
        if self.rng.random() < 0.05:
            self.reach.empty_lock()
            self.lockages += 1
        if self.rng.random() < 0.2:
            self.reach.pass_barge()
            self.barges += 1


def main():
    torch.manual_seed(83)
    rng = random.Random(83)
    reach = Reach(rng)
    traffic = Traffic(reach, rng)
    watch = Watch()
    start = time.monotonic()
    next_print = start + 2.0
    while (now := time.monotonic()) - start < SECONDS:
        traffic.move()
        reach.step()
        watch.observe(reach, now)
        if now >= next_print:
            watch.warn()
            print(f"{traffic.barges} barges, seiche {watch.seiche():+.4f}, {watch.warnings} warnings", flush=True)
            next_print += 2.0
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"watch over: {traffic.lockages} lockages, {traffic.barges} barges", flush=True)


if __name__ == "__main__":
    main()
