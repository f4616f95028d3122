"""Finds the scratches on old films before a cinema shows them again.

Reels of several gauges come in turn from the scanner; the frames of each gauge have a size of their own, and the gate
of the scanner adds a margin of a few lines. A network marks the scratches of each frame, the marks are compared with
those of the frame before (a scratch runs on, dirt does not), and at the end of a reel an entry with its condition
goes to the report for the projectionist.

    ticket: practice
    class: none
"""
import collections
import itertools
import os
import time
from typing import NamedTuple

import numpy as np
import torch
import torch.nn as nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
GAUGES = {"9.5mm": (480, 640), "16mm": (576, 768), "super16": (576, 960), "35mm": (720, 976), "scope": (640, 1088)}
MARGINS = (0, 16, 32)
FRAMES_PER_REEL = 8
REST = 0.13


class ScratchNet(nn.Module):
    """Tall kernels, as scratches run along the film."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 8, (9, 3), stride=(4, 2), padding=(4, 1))
        self.middle = nn.Conv2d(8, 8, (7, 1), padding=(3, 0))
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, frame):
        x = torch.relu(self.down(frame))
        x = self.out(torch.relu(self.middle(x)))
        return nn.functional.interpolate(x, size=frame.shape[2:], mode="bilinear", align_corners=False)


class Entry(NamedTuple):
    reel: int
    gauge: str
    condition: float
    frames: int


class Report:
    def __init__(self):
        self.entries = collections.deque(maxlen=20)

    def enter(self, entry):
        self.entries.append(entry)

    def worst(self):
        return min(self.entries, key=lambda entry: entry.condition)


class Scanner:
    """Delivers frames of a reel, with straight scratches at random places."""

    def __init__(self, gauge, margin, seed):
        self.height, self.width = GAUGES[gauge]
        self.height += margin
        self.numbers = np.random.default_rng(seed)
        self.scratches = self.numbers.integers(0, self.width, size=6)

    def __iter__(self):
        for _ in range(FRAMES_PER_REEL):
            frame = torch.rand(1, 1, self.height, self.width, device=DEVICE).mul_(0.6)
            for column in self.scratches:
                place = int(column + self.numbers.integers(-1, 2)) % self.width
                frame[..., place] += 0.4
            yield frame


@torch.no_grad()
def mark(net, frame):
    chances = torch.sigmoid(net(frame) * 4.0)
    return chances[0, 0].cpu().numpy()


def running_on(before, now):
    """Share of the marked columns that were marked in the frame before as well."""
    old, new = before.mean(axis=0), now.mean(axis=0)
    high = new > new.mean()
    return float((old[high] > old.mean()).mean()) if high.any() else 0.0


def inspect(net, reel, gauge, margin):
    marks, shares = collections.deque(maxlen=1), []
    for frame in Scanner(gauge, margin, seed=reel):
        now = mark(net, frame)
        if marks:
            shares.append(running_on(marks[-1], now))
        marks.append(now)
        time.sleep(REST)
    return Entry(reel, gauge, 1.0 - sum(shares) / len(shares), len(shares) + 1)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(1895)
    net = ScratchNet().to(DEVICE).eval()
    for (height, width), margin in itertools.product(GAUGES.values(), MARGINS):
        mark(net, torch.zeros(1, 1, height + margin, width, device=DEVICE))
    report = Report()
    arrivals = itertools.cycle(itertools.product(MARGINS, GAUGES))
    for reel, (margin, gauge) in enumerate(arrivals, start=1):
        report.enter(inspect(net, reel, gauge, margin))
        if reel % 3 == 0:
            worst = report.worst()
            print(f"{reel} reels, worst of late: {worst.reel} ({worst.gauge}) {worst.condition:.3f}", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
