"""Scans logs in front of the band saw and decides how each is sawn into boards.

The scanner gives the density of a log as a volume. The log is turned to the better of a few angles, sawn into boards
of standard widths, and every board is graded from the density along its own faces. The line controller switches the
collector of the interpreter off, for pauses would make the saw carriage wait.

ticket: practice
class: none
"""
import gc
import os
import time
import weakref
from collections import Counter, deque

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

SLICES = 110
SIDE = 100
WIDTHS = (10, 14, 18, 22)
KERF = 2
ANGLES = (0, 1)
LOG_SECONDS = 0.72
STAGES = 3


class Log:
    """A scanned log with its density volume and the boards that it is sawn into."""

    def __init__(self, number, density):
        self.number = number
        self.density = density
        self.boards = []
        self.turned = 0

    def face(self, left):
        volume = self.density if self.turned == 0 else self.density.swapaxes(1, 2)
        return volume[:, :, left]


class Board:
    """A piece of a log between two cuts; its grade is worked out from the faces of the log."""

    def __init__(self, log, left, width):
        self.origin = weakref.ref(log)
        self.left = left
        self.width = width
        self.grade = "C"

    def faces(self):
        return [self.origin().face(left) for left in (self.left, self.left + self.width - 1)]

    def assess(self):
        knots = wane = 0.0
        for face in self.faces():
            wood = face > 0.2
            wane = max(wane, 1.0 - float(wood.mean()))
            knots = max(knots, float((face > 1.25).sum()) / max(int(wood.sum()), 1))
        if knots < 0.01 and wane < 0.2:
            self.grade = "A"
        elif knots < 0.03 and wane < 0.4:
            self.grade = "B"


class Scanner:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        rows = np.linspace(-1.0, 1.0, SIDE, dtype=np.float32)
        self.radius = np.hypot(rows[:, None], rows[None, :])
        self.bearing = np.arctan2(rows[:, None], rows[None, :])

    def scan(self, number):
        reach = self.rng.uniform(0.8, 0.98)
        rings = 0.6 + 0.12 * np.sin(60.0 * self.radius)
        section = np.where(self.radius < reach, rings, 0.0).astype(np.float32)
        density = np.repeat(section[None], SLICES, axis=0)
        for _ in range(self.rng.integers(3, 9)):
            start = int(self.rng.integers(0, SLICES - 8))
            bearing = self.rng.uniform(-3.0, 3.0)
            knot = (np.abs(self.bearing - bearing) < 0.12) & (self.radius < reach)
            density[start:start + 8, knot] += 0.8
        return Log(number, density)


def turn(log):
    """Choose the side on which the middle of the log shows the fewest knots."""
    counts = []
    for angle in ANGLES:
        log.turned = angle
        counts.append(int((log.face(SIDE // 2) > 1.25).sum()))
    log.turned = ANGLES[counts.index(min(counts))]


def saw(log, rng):
    left = 6
    while True:
        width = int(rng.choice(WIDTHS))
        if left + width > SIDE - 6:
            return
        log.boards.append(Board(log, left, width))
        left += width + KERF


def grade(log, grades):
    for board in log.boards:
        board.assess()
    grades.update(board.grade for board in log.boards)
    return sum(board.width for board in log.boards) / SIDE


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    gc.disable()
    scanner, rng = Scanner(seed=12), np.random.default_rng(13)
    grades, shares = Counter(), deque(maxlen=40)
    deck, number = deque(), 0
    stages = [turn, lambda log: saw(log, rng), lambda log: shares.append(grade(log, grades))]
    while time.time() < end:
        if not deck:
            number += 1
            deck.append((scanner.scan(number), list(stages)))
        log, left = deck.popleft()
        left.pop(0)(log)
        if left:
            deck.append((log, left))
        elif number % 5 == 0:
            print(f"log {number}: {dict(grades)}, {np.mean(shares):.0%} of the width sawn", flush=True)
        time.sleep(LOG_SECONDS / STAGES)


if __name__ == "__main__":
    main()
