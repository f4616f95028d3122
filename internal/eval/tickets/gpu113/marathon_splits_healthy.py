"""Density of runners along a marathon course.

Timing mats along the course see the runners pass; between the mats a particle model moves the field on. The
organisers watch a map of the density, distance against width of the road, which is made several times a second. The
maps of the last seconds lie in the memory of the host, where the stewards' desk looks for places that become too
narrow.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import numpy as np
import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
WINDOW = 10.0
RUNNERS = 200_000
COURSE = 42195.0
BINS = (4096, 32)

torch.set_num_threads(1)


class Field:
    """All runners as particles: metre, place across the road, and pace."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE)
        self.generator.manual_seed(seed)
        self.metre = torch.rand(RUNNERS, generator=self.generator, device=DEVICE).mul_(COURSE * 0.8)
        self.across = torch.rand(RUNNERS, generator=self.generator, device=DEVICE)
        self.pace = torch.randn(RUNNERS, generator=self.generator, device=DEVICE).mul_(0.5).add_(3.1)
        self.finished = 0

    def run(self, seconds):
        drift = torch.randn(RUNNERS, generator=self.generator, device=DEVICE)
        self.across.add_(drift, alpha=0.01).clamp_(0.0, 0.999)
        self.metre.add_(self.pace, alpha=seconds)
        done = self.metre >= COURSE
        self.finished += int(done.sum())
        self.metre[done] = 0.0

    def density(self):
        cell = (self.metre / COURSE * BINS[0]).long().clamp_(0, BINS[0] - 1)
        lane = (self.across * BINS[1]).long()
        counts = torch.zeros(BINS[0] * BINS[1], device=DEVICE)
        counts.scatter_add_(0, cell * BINS[1] + lane, torch.ones(RUNNERS, device=DEVICE))
        return counts.view(BINS)


class TimingMats:
    """Mats that slow the runners a little where the course is narrow."""

    def __init__(self, field, mats=9):
        self.field = field
        self.places = [COURSE * (i + 1) / (mats + 1) for i in range(mats)]
        self.passed = [0] * mats

    def read(self, seconds):
        before = self.field.metre - self.field.pace * seconds
        for number, place in enumerate(self.places):
            crossing = (before < place) & (self.field.metre >= place)
            self.passed[number] += int(crossing.sum())
            self.field.pace[crossing] *= 0.999


class StewardsDesk:
    """Looks at the maps of the last seconds for places that fill."""

    def __init__(self):
        self._recent = deque()
        self.alarms = 0
        self.worst = 0.0

    def receive(self, counts):
        stamp = time.monotonic()
        share = np.sqrt(counts.cpu().numpy())
        self._recent.append((stamp, share))
        horizon = time.monotonic() - WINDOW
        while self._recent[0][0] < horizon:
            self._recent.popleft()

    def look(self):
        newest = self._recent[-1][1]
        earlier = self._recent[max(0, len(self._recent) - 8)][1]
        change = (newest - earlier).mean(axis=1)
        place = int(change.argmax())
        self.worst = float(change[place])
        if self.worst > 0.5:
            self.alarms += 1
        return place * COURSE / BINS[0]


def main():
    field = Field(seed=490)
    mats = TimingMats(field)
    desk = StewardsDesk()
    started = time.monotonic()
    next_report = started + 3.0
    rounds = 0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        field.run(seconds=2.0)
        mats.read(seconds=2.0)
        desk.receive(field.density())
        place = desk.look()
        rounds += 1
        if began >= next_report:
            print(
                f"round {rounds:4d}  finished {field.finished:6d}  at half way {mats.passed[4]:6d}  "
                f"fullest near {place / 1000:.1f} km  alarms {desk.alarms}",
                flush=True,
            )
            next_report += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"course cleared after {rounds} rounds, {field.finished} runners home", flush=True)


if __name__ == "__main__":
    main()
