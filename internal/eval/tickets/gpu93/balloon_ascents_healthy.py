"""Ensemble ascents of weather balloons.

For each balloon in the air a cloud of members is carried upwards through a wind profile, one segment of the path
at a time. When the members reach the height at which the envelope bursts, the ascent is summed up (drift, spread)
and the next balloon starts from the same launch site.

ticket: practice
class: none
"""
import gc
import itertools
import math
import os
import random
import time
import weakref
from collections import deque

import torch

MEMBERS = 8192
SUBSTEPS = 12
SECONDS_PER_SUBSTEP = 40.0
ALOFT = 3
PACE = 0.25


def wind(altitude, phase):
    """East and north wind at the altitudes, with a jet near eleven kilometres."""
    jet = 38.0 * torch.exp(-((altitude - 11000.0) / 3500.0) ** 2)
    veer = altitude / 9000.0 + phase
    return torch.stack([jet * torch.cos(veer) + 4.0, jet * torch.sin(veer) - 1.5], dim=1)


class Segment:
    """A stretch of one ascent: the positions of all members at each substep."""

    def __init__(self, ascent, start, path):
        self.ascent = weakref.ref(ascent)
        self.start = start
        self.path = path

    def drift(self):
        offset = self.path[-1, :, :2] - self.ascent().origin[:, :2]
        return offset.norm(dim=1).mean().item()

    def climb_rate(self):
        rise = self.path[-1, :, 2].mean() - self.path[0, :, 2].mean()
        return rise.item() / ((len(self.path) - 1) * SECONDS_PER_SUBSTEP)


class Ascent:
    def __init__(self, number, rng, device):
        self.number = number
        self.clock = 0.0
        self.phase = rng.uniform(0, 2 * math.pi)
        self.burst = rng.uniform(24000.0, 33000.0)
        self.origin = torch.zeros(MEMBERS, 3, device=device)
        self.position = self.origin + 5.0 * torch.randn(MEMBERS, 3, device=device)
        self.lift = 5.0 + 0.4 * torch.randn(MEMBERS, 1, device=device)
        self.segments = []

    def rise(self):
        points = []
        for _ in range(SUBSTEPS):
            flow = wind(self.position[:, 2], self.phase)
            step = torch.cat([flow, self.lift], dim=1) * SECONDS_PER_SUBSTEP
            self.position = self.position + step + 3.0 * torch.randn_like(step)
            points.append(self.position)
        path = torch.stack(points)
        self.segments.append(Segment(self, self.clock, path))
        self.clock += SUBSTEPS * SECONDS_PER_SUBSTEP

    def height(self):
        return self.position[:, 2].mean().item()

    def summary(self):
        last = self.segments[-1]
        spread = self.position[:, :2].std(dim=0).norm().item()
        return {
            "balloon": self.number,
            "minutes": self.clock / 60.0,
            "drift_km": last.drift() / 1000.0,
            "spread_m": spread,
            "rate": sum(segment.climb_rate() for segment in self.segments) / len(self.segments),
        }


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    # The receiver hands over at fixed times; pauses of the collector would make segments late.
    gc.disable()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = random.Random(3)
    numbers = itertools.count(1)
    aloft = [Ascent(next(numbers), rng, device) for _ in range(ALOFT)]
    landed = deque(maxlen=30)
    for tick in itertools.count():
        if time.time() >= end:
            break
        due = time.time() + PACE
        for place, ascent in enumerate(aloft):
            ascent.rise()
            if ascent.height() > ascent.burst:
                landed.append(ascent.summary())
                aloft[place] = Ascent(next(numbers), rng, device)
        if tick % 14 == 13:
            line = ", ".join(f"{key} {value:.1f}" for key, value in landed[-1].items()) if landed else "none down yet"
            print(f"tick {tick + 1}: {line}", flush=True)
        time.sleep(max(0.0, due - time.time()))


if __name__ == "__main__":
    main()
