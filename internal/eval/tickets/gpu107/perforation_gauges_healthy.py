"""Gauges the perforation of the stamps in a collection.

A camera above the bench takes a scan of each stamp that the curator lays down. The program finds the teeth
along the four edges of the paper, counts how many there are on two centimetres, and compares the edges with one
another, as re-perforated stamps betray themselves by one edge that does not agree. The bench has to keep time
with the camera, so that the interpreter makes no pauses of its own while the belt runs.

ticket: practice
class: none
"""

import gc
import math
import os
import time
import weakref
from collections import Counter

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STAMPS_A_SECOND = 8
SIDE = 512
GAUGES = (11.0, 11.5, 12.0, 12.5, 13.0, 14.0)
SIDES = ("top", "right", "bottom", "left")
DOTS_ON_TWO_CENTIMETRES = 256


class Camera:
    """Stands in for the bench camera: paper with teeth, at a gauge drawn at random."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.grain = torch.rand(SIDE, SIDE, generator=self.generator).to(DEVICE)
        self.along = torch.arange(SIDE, device=DEVICE, dtype=torch.float32)

    def _draw(self):
        return GAUGES[int(torch.randint(len(GAUGES), (1,), generator=self.generator))]

    def _teeth(self, gauge):
        return 0.5 + 0.5 * torch.sin(self.along * (2.0 * math.pi * gauge / DOTS_ON_TWO_CENTIMETRES))

    def take(self):
        gauge = self._draw()
        odd = self._draw() if float(torch.rand(1, generator=self.generator)) < 0.1 else gauge
        scan = self.grain * 0.1 + 0.85
        scan[:8] *= self._teeth(gauge)
        scan[-8:] *= self._teeth(gauge)
        scan[:, :8] *= self._teeth(gauge).unsqueeze(1)
        scan[:, -8:] *= self._teeth(odd).unsqueeze(1)
        return scan


class Edge:
    """One edge of a stamp; reads its strip of paper out of the stamp's scan."""

    def __init__(self, stamp, side):
        self.stamp = weakref.proxy(stamp)
        self.side = side

    def strip(self):
        scan = self.stamp.scan
        if self.side == "top":
            return scan[:4].mean(dim=0)
        if self.side == "bottom":
            return scan[-4:].mean(dim=0)
        if self.side == "left":
            return scan[:, :4].mean(dim=1)
        return scan[:, -4:].mean(dim=1)

    def gauge(self, bank):
        strip = self.strip()
        powers = (bank @ (strip - strip.mean())).abs()
        return GAUGES[int(powers.argmax())]


class Stamp:
    """A stamp on the bench, with its scan and its four edges."""

    def __init__(self, number, scan):
        self.number = number
        self.scan = scan
        self.edges = [Edge(self, side) for side in SIDES]

    def gauges(self, bank):
        return [edge.gauge(bank) for edge in self.edges]


class Bench:
    """Puts stamp after stamp under the camera and tallies what it reads."""

    def __init__(self, seed):
        self.camera = Camera(seed)
        along = torch.arange(SIDE, dtype=torch.float32)
        waves = [torch.sin(along * (2.0 * math.pi * gauge / DOTS_ON_TWO_CENTIMETRES)) for gauge in GAUGES]
        self.bank = torch.stack(waves).to(DEVICE)
        self.tally = Counter()
        self.doubtful = 0
        self.seen = 0

    def inspect(self):
        self.seen += 1
        stamp = Stamp(self.seen, self.camera.take())
        gauges = stamp.gauges(self.bank)
        most, votes = Counter(gauges).most_common(1)[0]
        self.tally[most] += 1
        if votes < len(SIDES):
            self.doubtful += 1
        return most


def main():
    gc.collect()
    gc.disable()
    bench = Bench(seed=1854)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        gauge = bench.inspect()
        if bench.seen % 24 == 0:
            print(f"stamp {bench.seen}: gauge {gauge}, {bench.doubtful} doubtful so far", flush=True)
        time.sleep(1.0 / STAMPS_A_SECOND)
    usual = bench.tally.most_common(1)[0][0]
    print(f"{bench.seen} stamps gauged, the usual gauge is {usual}, {bench.doubtful} doubtful", flush=True)


if __name__ == "__main__":
    main()
