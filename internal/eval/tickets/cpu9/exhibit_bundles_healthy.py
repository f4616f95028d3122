"""Scanning desk of a court of law: exhibits become bundles of clean pages.

The papers of a case are scanned page by page, straightened, cleaned and put in a bundle for the hearing.
Scans of evidence are confidential: when the courtroom is given up, or the hearing is over, the pages of a
bundle are overwritten.  After each hearing the desk notes how much ink the bundle had and how many stamps
were found on it.

    ticket: practice
    class: none
"""
import os
import time
import weakref
from collections import Counter, deque

import numpy as np

PAGES = 6
HEIGHT, WIDTH = 1152, 896
PACE_S = 0.2


def overwrite(pages):
    for page in pages:
        page.fill(0)


class Courtroom:
    """A room with a bench; bundles are assigned to it for the time of a hearing."""

    def __init__(self, name):
        self.name = name
        self.stamps = Counter()
        self.hearings = 0


class Bundle:
    def __init__(self, case, room):
        self.case = case
        self.room = room
        self.pages = []
        self.wiping = weakref.finalize(room, overwrite, self.pages)

    def add(self, page):
        self.pages.append(page)

    @property
    def complete(self):
        return len(self.pages) == PAGES

    def ink(self):
        return float(np.mean([page[::4, ::4].mean() for page in self.pages])) / 255.0


class Scanner:
    """Raw sheets: lines of writing, speckle, a slant, and at times a round stamp."""

    def __init__(self, seed):
        self.dice = np.random.default_rng(seed)
        rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
        self.rows = rows.astype(np.int32)
        self.columns = columns.astype(np.int32)

    def sheet(self):
        slant = self.dice.uniform(-0.04, 0.04)
        lines = (self.rows + (slant * self.columns).astype(np.int32)) % 36 < 12
        speckle = self.dice.integers(0, 90, (HEIGHT, WIDTH), dtype=np.uint8)
        raw = np.where(lines, 150, 10).astype(np.uint8) + speckle
        if self.dice.random() < 0.3:
            y, x = self.dice.integers(150, 700, 2)
            raw[y:y + 90, x:x + 90] = 255
        return slant, raw


def straighten(raw, slant):
    """Shift bands of columns up or down against the slant."""
    page = np.empty_like(raw)
    for left in range(0, WIDTH, 64):
        shift = int(round(slant * left))
        page[:, left:left + 64] = np.roll(raw[:, left:left + 64], shift, axis=0)
    return page


def clean(page, floor=60):
    np.subtract(page, floor, out=page, where=page > floor)
    return page


def find_stamp(page):
    blocks = page[: HEIGHT // 32 * 32, : WIDTH // 32 * 32].reshape(HEIGHT // 32, 32, WIDTH // 32, 32)
    return bool((blocks.min(axis=(1, 3)) > 190).any())


def hear(bundle):
    """The hearing itself: read the bundle in the room, then overwrite it."""
    room = bundle.room
    room.stamps[sum(find_stamp(page) for page in bundle.pages)] += 1
    room.hearings += 1
    ink = bundle.ink()
    bundle.wiping()
    return ink


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rooms = [Courtroom(name) for name in ("assize", "chancery", "probate")]
    scanner = Scanner(21)
    inks = deque(maxlen=20)
    bundle = Bundle(1, rooms[0])
    while True:
        slant, raw = scanner.sheet()
        bundle.add(clean(straighten(raw, slant)))
        if bundle.complete:
            inks.append(hear(bundle))
            if bundle.case % 2 == 0:
                print(f"case {bundle.case} in {bundle.room.name}: ink {np.mean(inks):.3f}, "
                      f"stamps {dict(bundle.room.stamps)}", flush=True)
            bundle = Bundle(bundle.case + 1, rooms[bundle.case % len(rooms)])
        if time.time() > end:
            return
        time.sleep(PACE_S)


if __name__ == "__main__":
    main()
