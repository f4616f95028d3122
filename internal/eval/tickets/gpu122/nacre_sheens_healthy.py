"""Grading bench of a pearl fishery.

Divers hand in their pearls by the basket and the bench lights each one from a ring of lamps. From the pictures it
works out a sheen map of the nacre, whose contrast and orient decide the grade. The grader's card shows the spread of
the grades of the last fourteen seconds, so that a drift of the lamps can be told from a poor basket.

    ticket: practice
    class: none
"""
import math
import os
import time
from dataclasses import dataclass

import cupy as cp

PEARLS_PER_SECOND = 6
SIDE = 512
LAMPS = 5
CARD_SECONDS = 14.0
GRADES = ((0.62, "AAA"), (0.52, "AA"), (0.42, "A"))


@dataclass
class Sheen:
    at: float
    pearl: int
    surface: cp.ndarray
    contrast: float


def ball_normals(side):
    """Surface normals of a sphere as the camera sees it."""
    axis = cp.linspace(-1.0, 1.0, side, dtype=cp.float32)
    x, y = axis[None, :], axis[:, None]
    inside = cp.maximum(1.0 - x * x - y * y, 0.0)
    z = cp.sqrt(inside)
    return x + 0.0 * z, y + 0.0 * z, z


class LampRing:
    def __init__(self, lamps):
        angles = [2.0 * math.pi * index / lamps for index in range(lamps)]
        self.directions = [(0.5 * math.cos(angle), 0.5 * math.sin(angle), 0.7) for angle in angles]
        self.power = [1.0] * lamps

    def drift(self, pearl):
        self.power = [1.0 + 0.03 * math.sin(pearl / 40.0 + index) for index in range(len(self.power))]


class Bench:
    """Lights the pearls and works out the sheen."""

    def __init__(self, seed):
        self.random = cp.random.default_rng(seed)
        self.normals = ball_normals(SIDE)
        self.lamps = LampRing(LAMPS)

    def platelets(self):
        """Unevenness of the nacre of one pearl."""
        return 0.08 * self.random.standard_normal((SIDE, SIDE), dtype=cp.float32)

    def light(self, pearl):
        self.lamps.drift(pearl)
        x, y, z = self.normals
        rough = self.platelets()
        brightest = cp.zeros((SIDE, SIDE), dtype=cp.float32)
        for (dx, dy, dz), power in zip(self.lamps.directions, self.lamps.power):
            shade = cp.maximum(x * dx + y * dy + z * dz + rough, 0.0)
            cp.maximum(brightest, power * shade, out=brightest)
        return brightest

    def sheen(self, pearl):
        picture = self.light(pearl)
        return cp.sqrt(picture) * self.normals[2]


class GradersCard:
    def __init__(self, seconds):
        self.seconds = seconds
        self.sheens = []
        self.counts = {}

    def enter(self, at, pearl, surface):
        contrast = float(surface.max() - surface.mean())
        self.sheens.append(Sheen(at, pearl, surface, contrast))
        grade = next((name for limit, name in GRADES if contrast >= limit), "B")
        self.counts[grade] = self.counts.get(grade, 0) + 1
        return grade

    def spread(self, now):
        """Mean contrast of the last seconds and how the newest surface differs from the oldest of them."""
        recent = self.sheens = [sheen for sheen in self.sheens if now - sheen.at <= self.seconds]
        mean = sum(sheen.contrast for sheen in recent) / len(recent)
        shift = float(cp.abs(recent[-1].surface - recent[0].surface).mean())
        return mean, shift


def grade_baskets(seconds):
    bench = Bench(seed=7301)
    card = GradersCard(CARD_SECONDS)
    started = time.monotonic()
    pearl = 0
    while time.monotonic() - started < seconds:
        surface = bench.sheen(pearl)
        now = time.monotonic() - started
        grade = card.enter(now, pearl, surface)
        mean, shift = card.spread(now)
        pearl += 1
        if pearl % (3 * PEARLS_PER_SECOND) == 0:
            print(f"pearl {pearl} is {grade}; contrast {mean:.3f}, shift of the lamps {shift:.4f}", flush=True)
        time.sleep(max(0.0, started + pearl / PEARLS_PER_SECOND - time.monotonic()))
    return pearl, card.counts


def main():
    pearls, counts = grade_baskets(float(os.environ.get("SECONDS", "120")))
    graded = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"bench closed after {pearls} pearls: {graded}", flush=True)


if __name__ == "__main__":
    main()
