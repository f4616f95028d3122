"""Simulates a spice mill that grinds nutmeg in passes between two stones.
A pass breaks grains, so that the bed of the next one has more of them; after sixteen passes the lot goes to the
sieve and the stones get whole nuts again. The curve of grain sizes decides how the gap is set.

ticket: practice
class: none
"""
import os
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(1621)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PASSES_PER_S = 4
PASSES_PER_LOT = 16
WHOLE_BED = 3 * 1024 * 1024
BROKEN_PER_PASS = 64 * 1024
SIZES = 64


class Stones:
    """The upper stone: its gap, how worn it is, and how many passes the bed has had."""

    def __init__(self):
        self.gap = 0.8
        self.wear = 0.0
        self.passes = 0

    def grains(self):
        return WHOLE_BED + BROKEN_PER_PASS * self.passes

    def grind(self):
        """Grind the bed once and give the curve of grain sizes."""
        bed = torch.rand(self.grains(), device=DEVICE)
        bed.pow_(1.0 + self.gap).mul_(self.gap)
        curve = torch.histc(bed, bins=SIZES, min=0.0, max=1.0)
        self.passes += 1
        self.wear += 1e-4
        return curve / curve.sum()

    def set_gap(self, fineness):
        self.gap = min(1.0, max(0.2, self.gap + 0.1 * (0.3 - fineness)))


class Sieve:
    """Weighs the fractions of a finished lot with the tables of the laboratory."""

    def __init__(self):
        self._tables = torch.rand(8 * 1024 * 1024 // SIZES, SIZES, device=DEVICE)
        self._fraction = torch.linspace(0.0, 1.0, SIZES, device=DEVICE)
        self.lots = 0
        self.yield_share = 0.0

    def fineness(self, curve):
        return float((curve * self._fraction).sum())

    def weigh(self, curve):
        first = (self.lots * 512) % (len(self._tables) - 512)
        score = self._tables[first:first + 512] @ curve
        self.lots += 1
        self.yield_share = float(score.mean())


class Mill:
    def __init__(self):
        self.stones = Stones()
        self.sieve = Sieve()
        self.passes = 0
        self._done = 0
        self._curve = torch.full((SIZES,), 1.0 / SIZES, device=DEVICE)

    def load_lot(self):
        """Whole nuts come from the hopper."""
        self._done = 0
        self.stones.gap = 0.8
        self.stones.passes = 0

    def run_pass(self):
        curve = self.stones.grind()
        self._curve.lerp_(curve, 0.5)
        self.stones.set_gap(self.sieve.fineness(self._curve))
        self.passes += 1
        self._done += 1
        if self._done == PASSES_PER_LOT:
            self.sieve.weigh(self._curve)
            self.load_lot()

    def report(self):
        return (
            f"pass {self.passes}: gap {self.stones.gap:.3f} mm, fineness {self.sieve.fineness(self._curve):.3f}, "
            f"{self.sieve.lots} lots sieved, yield {self.sieve.yield_share:.3f}"
        )


def main():
    mill = Mill()
    start = time.monotonic()
    tick = start
    said = start
    with torch.no_grad():
        while time.monotonic() - start < SECONDS:
            mill.run_pass()
            if time.monotonic() - said >= 3.0:
                said = time.monotonic()
                print(mill.report(), flush=True)
            tick += 1.0 / PASSES_PER_S
            time.sleep(max(0.0, tick - time.monotonic()))
    print(f"stones lifted after {mill.passes} passes, wear {mill.stones.wear:.4f}", flush=True)


if __name__ == "__main__":
    main()
