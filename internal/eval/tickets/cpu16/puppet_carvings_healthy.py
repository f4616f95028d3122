"""A puppet workshop has a carving machine cut heads out of lime wood blanks, each with knots in other places.

The machine works down from the block in passes. Where the cutter meets a knot too hard for the feed, it stops the
piece; the foreman puts the blank aside, notes what went wrong and sets up the next one.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 14
SIDE = 256
PASSES = 6
CHARACTERS = ["Kasper", "Gretel", "Wolf", "King", "Witch", "Constable"]


class CutterStopped(Exception):
    """The cutter met wood that it cannot take at the present feed."""

    def __init__(self, character, level, hardness):
        super().__init__(f"{character}: hardness {hardness:.2f} at pass {level}")
        self.character = character
        self.level = level
        self.hardness = hardness


class Blank:
    """A block of lime wood, given by its number; its grain comes from the number."""

    def __init__(self, number):
        self.number = number

    def grain(self):
        """Hardness of the wood across the block, with knots."""
        rng = np.random.default_rng(61000 + self.number)
        rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)
        wood = 0.4 + 0.05 * np.sin(columns / 9.0 + rng.uniform(0.0, 6.0))
        for _ in range(int(rng.integers(0, 4))):
            row, column = rng.uniform(20, SIDE - 20, 2)
            wood += rng.uniform(0.1, 0.7) * np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 200.0)
        return wood


class Pattern:
    """Depth map of one character's head."""

    def __init__(self, name, rng):
        self.name = name
        grid = np.linspace(-1.0, 1.0, SIDE)
        dome = np.clip(1.0 - grid[None, :] ** 2 - grid[:, None] ** 2, 0.0, None)
        nose = rng.uniform(0.2, 0.6) * np.exp(-(grid[None, :] ** 2 + (grid[:, None] - 0.1) ** 2) / 0.02)
        self.depth = np.sqrt(dome) + nose
        self.floor = float(np.percentile(self.depth, 40))


class Foreman:
    """Runs the machine piece by piece and keeps the workshop's books."""

    def __init__(self, patterns, feed):
        self.patterns = patterns
        self.feed = feed
        self.carved = 0
        self.chips = 0.0
        self.spoiled = deque(maxlen=5)

    def carve(self, blank, pattern):
        """Cut one head out of one blank, pass by pass."""
        grain = blank.grain()
        relief = np.full((SIDE, SIDE), pattern.depth.max() + 0.1)
        for level in range(PASSES):
            target = relief + (pattern.depth - relief) * (level + 1) / PASSES
            force = np.abs(relief - target) * grain * self.feed
            if force.max() > 0.21 and grain.max() > 0.75:
                raise CutterStopped(pattern.name, level, float(grain.max()))
            self.chips += float((relief - target).sum()) * 1e-4
            relief = target
        return relief

    def set_up(self, blank):
        """One blank on the machine; it becomes a head or goes aside."""
        pattern = self.patterns[blank.number % len(self.patterns)]
        try:
            relief = self.carve(blank, pattern)
        except CutterStopped as stop:
            self.spoiled.append(stop)
            return None
        self.carved += 1
        return float(relief.max() - pattern.floor)

    def notes(self):
        """The latest stops for the wood merchant."""
        latest = list(self.spoiled)[-2:]
        return "; ".join(str(stop) for stop in latest) or "none"


def main():
    rng = np.random.default_rng(377)
    foreman = Foreman([Pattern(name, rng) for name in CHARACTERS], feed=1.0)
    number = 0
    began = time.monotonic()
    next_line = 3.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        foreman.set_up(Blank(number))
        number += 1
        if now >= next_line:
            print(f"{now:6.1f} s  blanks {number:5d}  heads {foreman.carved:5d}  chips {foreman.chips:8.1f}"
                  f"  stops: {foreman.notes()}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    print(f"workshop closes: {foreman.carved} heads out of {number} blanks", flush=True)


if __name__ == "__main__":
    main()
