"""Digitises the sheets of a map archive, each in two passes of the scanner.

The first pass lights a sheet from the left, the second, some sheets later, from the right. Both passes reach the
device through page-locked staging; there they are merged into one picture without the shadows of the folds, and
the ink and the paper are told apart.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PAGE_LOCKED = DEVICE == "cuda"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS, COLUMNS = 1024, 1024
TRAY = 5
ROUNDS_PER_SECOND = 6


@dataclass
class Pass:
    sheet: int
    side: str
    rows: np.ndarray


class Scanner:
    """Hands out the passes of sheet after sheet; a tray of sheets lies between the first and the second."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.paper = self.rng.integers(150, 240, size=(ROWS + 256, COLUMNS), dtype=np.uint8)
        self.shadow = np.linspace(0, 60, COLUMNS).astype(np.uint8)
        self.tray = deque()
        self.sheets = 0

    def _rows(self, side):
        top = int(self.rng.integers(0, 256))
        shadow = self.shadow if side == "left" else self.shadow[::-1]
        return self.paper[top:top + ROWS] - shadow

    def feed(self):
        self.sheets += 1
        self.tray.append(self.sheets)
        passes = [Pass(self.sheets, "left", self._rows("left"))]
        if len(self.tray) > TRAY:
            passes.append(Pass(self.tray.popleft(), "right", self._rows("right")))
        return passes


class Staging:
    """Page-locked copies of passes, so that transfers run beside the work."""

    def __init__(self):
        self._awaiting = {}

    def lock(self, rows):
        buffer = torch.empty(rows.shape, dtype=torch.uint8, pin_memory=PAGE_LOCKED)
        buffer.numpy()[:] = rows
        return buffer

    def first(self, scan):
        self._awaiting[scan.sheet] = self.lock(scan.rows)

    def pair(self, scan):
        left = self._awaiting.pop(scan.sheet)
        right = self.lock(scan.rows)
        return [half.to(DEVICE, non_blocking=True) for half in (left, right)]


class Merger:
    def __init__(self):
        self.ink_share = 0.0
        self.merged = 0

    def merge(self, left, right):
        picture = torch.maximum(left, right).float() / 255
        rows = picture.mean(1, keepdim=True)
        flat = picture - rows
        ink = (flat < -0.08).float().mean()
        self.ink_share = 0.9 * self.ink_share + 0.1 * float(ink)
        self.merged += 1


class ScanRoom:
    def __init__(self, seed):
        self.scanner = Scanner(seed)
        self.staging = Staging()
        self.merger = Merger()

    def work(self):
        for scan in self.scanner.feed():
            if scan.side == "left":
                self.staging.first(scan)
            else:
                self.merger.merge(*self.staging.pair(scan))


def main():
    torch.set_num_threads(1)
    room = ScanRoom(seed=5)
    begun = time.monotonic()
    next_line = begun + 2.0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        room.work()
        if started >= next_line:
            print(
                f"sheet {room.scanner.sheets}: {room.merger.merged} merged, ink {room.merger.ink_share:.3f}",
                flush=True,
            )
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"lamps off after {room.scanner.sheets} sheets, {room.merger.merged} merged", flush=True)


if __name__ == "__main__":
    main()
