"""Dimming plans for the lamp posts of a new town quarter.

Detectors at the posts count walkers and cars through simulated evenings. Every two seconds an evening is complete;
its presence profile joins the recent evenings, from which the planner derives how far each post may be dimmed in each
minute. A smooth plan is pushed to the controllers bit by bit in between.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.1
EVENING = 2.0
POSTS = 3640
MINUTES = 720
RECENT = 2


class Quarter:
    """Streets with posts; some are busy early, some late."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.peak = torch.rand(POSTS, 1, generator=self.generator, device=DEVICE) * MINUTES
        self.width = 60.0 + 120.0 * torch.rand(POSTS, 1, generator=self.generator, device=DEVICE)
        self.minute = torch.arange(MINUTES, device=DEVICE, dtype=torch.float32)

    def evening(self, weekday):
        shift = 20.0 * (weekday % 7 >= 5)
        busy = torch.exp(-((self.minute - self.peak - shift) / self.width).square())
        jitter = torch.rand(POSTS, MINUTES, generator=self.generator, device=DEVICE)
        return busy * (0.6 + 0.4 * jitter)


class PresenceHistory:
    """Presence by post and minute over the recent evenings."""

    def __init__(self, recent):
        self.recent = recent
        self._evenings = deque(maxlen=recent)
        self.count = 0

    def add(self, presence):
        self._evenings.append(presence)
        self.count += 1

    def expected(self):
        newest = list(self._evenings)[-self.recent:]
        return torch.stack(newest).mean(dim=0)


class Planner:
    def __init__(self, floor):
        self.floor = floor
        self.plan = torch.ones(POSTS, MINUTES, device=DEVICE)
        self.level = torch.ones(POSTS, device=DEVICE)

    def replan(self, history):
        wanted = self.floor + (1.0 - self.floor) * history.expected()
        self.plan.mul_(0.5).add_(wanted, alpha=0.5)

    def push(self, minute):
        target = self.plan[:, minute % MINUTES]
        self.level += (target - self.level).clamp(-0.05, 0.05)
        return float(self.level.mean())

    def saving(self):
        return 100.0 * (1.0 - float(self.plan.mean()))


def main():
    torch.set_num_threads(1)
    quarter = Quarter(seed=5)
    history = PresenceHistory(RECENT)
    planner = Planner(floor=0.2)
    start = time.monotonic()
    rounds = 0
    evenings = 0
    level = 1.0
    next_print = 4.0
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        if now >= evenings * EVENING:
            history.add(quarter.evening(weekday=evenings))
            planner.replan(history)
            evenings += 1
        level = planner.push(minute=rounds * 7)
        rounds += 1
        if now >= next_print:
            print(f"{now:5.1f} s evening {history.count} mean level {level:.3f} "
                  f"saving {planner.saving():.1f} %", flush=True)
            next_print += 4.0
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"plan final after {history.count} evenings: saving {planner.saving():.1f} %", flush=True)


if __name__ == "__main__":
    main()
