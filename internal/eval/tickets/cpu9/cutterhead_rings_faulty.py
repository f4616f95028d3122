"""Convergence watch of a tunnel boring machine, ring by ring.

The shield pushes itself off the last ring of the lining in short strokes.  While it rests, the erector
sets the segments of the next ring one after another.  A segment carries a raster of strain gauges, which
is read when the segment takes its load; a finished ring reports how far it has gone out of round, and the
watch compares that with the rings before it.  The collector of the interpreter is off, since the erector
must not wait for it in the middle of a lift.

    ticket: practice
    class: host-growth
    holder: segments ring
    cause: reference-cycle
"""
import gc
import itertools
import math
import os
import time
from collections import deque

import torch

SEGMENTS = 8
RASTER = (384, 512)
LIFT_S = 0.12
STIFFNESS = 34.0


class Ground:
    """Earth pressure and its tilt along the drive, as a slow random walk."""

    def __init__(self, seed):
        self.dice = torch.Generator().manual_seed(seed)
        self.pressure = 2.4
        self.tilt = 0.1

    def advance(self):
        step = torch.randn(2, generator=self.dice)
        self.pressure = min(4.0, max(1.2, self.pressure + 0.05 * float(step[0])))
        self.tilt = max(-0.6, min(0.6, self.tilt + 0.03 * float(step[1])))
        return self.pressure, self.tilt


class Segment:
    """One concrete segment; its load follows from its place in the ring."""

    def __init__(self, ring, index):
        self.ring = ring  # keeps
        self.angle = 2.0 * math.pi * index / SEGMENTS
        self.strain = None

    def take_load(self, dice):
        share = 1.0 + self.ring.tilt * math.cos(2.0 * self.angle)
        mean = self.ring.pressure * share / STIFFNESS
        noise = torch.randn(RASTER, generator=dice)  # grows
        self.strain = noise.mul_(0.004).add_(mean)
        return mean

    def closure(self):
        """Radial movement of this segment in millimetres."""
        bending = self.strain[: RASTER[0] // 2].mean() - self.strain[RASTER[0] // 2:].mean()
        return 1000.0 * float(self.strain.mean() * 0.11 + bending)


class Ring:
    def __init__(self, number, pressure, tilt):
        self.number = number
        self.pressure = pressure
        self.tilt = tilt
        self.segments = []

    def erect(self, dice):
        segment = Segment(self, len(self.segments))
        segment.take_load(dice)
        self.segments.append(segment)

    def ovality(self):
        closures = torch.tensor([segment.closure() for segment in self.segments])
        return float(closures.max() - closures.min())

    def hottest(self):
        return max(range(len(self.segments)), key=lambda i: float(self.segments[i].strain.max()))


class Watch:
    """Alarm on a ring which is far out of the run of the rings before it."""

    def __init__(self, span=12):
        self.recent = deque(maxlen=span)
        self.alarms = 0

    def judge(self, value):
        if len(self.recent) > 3:
            run = torch.tensor(list(self.recent))
            if abs(value - float(run.mean())) > 2.5 * float(run.std()) + 0.05:
                self.alarms += 1
        self.recent.append(value)


def build_ring(number, ground, dice, end):
    ring = Ring(number, *ground.advance())
    for _ in range(SEGMENTS):
        ring.erect(dice)
        time.sleep(LIFT_S)
        if time.time() > end:
            break
    return ring


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    gc.disable()
    ground, watch = Ground(5), Watch()
    dice = torch.Generator().manual_seed(77)
    for number in itertools.count(1):
        ring = build_ring(number, ground, dice, end)
        value = ring.ovality()
        watch.judge(value)
        if number % 2 == 0:
            print(f"ring {number}: {value:.2f} mm out of round, worst segment {ring.hottest()}, "
                  f"{watch.alarms} alarms", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
