"""Working torchon grounds on a lace pillow.

The threads of a torchon ground are followed as they cross and twist; pins hold them, the pull evens them out. A repeat
of the pattern takes two seconds of work, after which its swatch is drawn, measured and entered into the book of the
workshop: how dense the ground is, how even, and how it compares with the repeats before it.

ticket: practice
class: app-leak
holder: repeats
cause: results-kept
"""
import os
import time
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
ROUNDS_PER_REPEAT = 20
PAIRS = 96
POINTS = 2048
COLOURS = 10
SIDE = 512


@dataclass
class Repeat:
    """One entry in the book."""
    number: int
    density: float
    evenness: float
    swatch: cp.ndarray


class Pillow:
    """Threads on the pillow: their sideways place along the length of the lace."""

    def __init__(self, seed=27):
        self.chance = cp.random.RandomState(seed)
        self.rest = cp.linspace(-1.0, 1.0, PAIRS, dtype=cp.float32)[:, None]
        self.pins = cp.arange(0, POINTS, 64)
        self.background = self.chance.rand(24, SIDE, SIDE).astype(cp.float32)
        self.wind()

    def wind(self):
        wander = self.chance.standard_normal((PAIRS, POINTS)).astype(cp.float32)
        self.threads = self.rest + 0.01 * wander
        self.held = self.threads[:, self.pins].copy()

    def cross(self, round_number):
        """Crosses neighbouring pairs, the even or the odd ones, and lets the pull even them out."""
        first = round_number % 2
        last = first + 2 * ((PAIRS - first) // 2)
        left = self.threads[first:last:2].copy()
        self.threads[first:last:2] = 0.7 * left + 0.3 * self.threads[first + 1 : last : 2]
        self.threads[first + 1 : last : 2] = 0.7 * self.threads[first + 1 : last : 2] + 0.3 * left
        smooth = 0.25 * (cp.roll(self.threads, 1, axis=1) + cp.roll(self.threads, -1, axis=1)) + 0.5 * self.threads
        self.threads = smooth
        self.threads[:, self.pins] = self.held

    def draw(self, number):
        """The swatch of the repeat, one sheet for each colour of thread."""
        swatch = cp.zeros((COLOURS, SIDE, SIDE), dtype=cp.float32)  # grows
        rows = cp.arange(POINTS) * SIDE // POINTS
        for colour in range(COLOURS):
            places = self.threads[colour::COLOURS]
            columns = cp.clip(((places + 1.1) / 2.2 * SIDE).astype(cp.int32), 0, SIDE - 1)
            swatch[colour, cp.broadcast_to(rows, columns.shape), columns] = 1.0
            swatch[colour] += 0.05 * self.background[(number + colour) % len(self.background)]
        return swatch


class Workshop:
    """Works repeat after repeat and enters them into the book."""

    def __init__(self, pillow):
        self.pillow = pillow
        self.repeats = []

    def finish(self):
        number = len(self.repeats) + 1
        swatch = self.pillow.draw(number)
        density = float((swatch > 0.5).mean())
        evenness = 1.0 / (1.0 + float(swatch.mean(axis=1).std()))
        self.repeats.append(Repeat(number, density, evenness, swatch))  # keeps
        self.pillow.wind()
        return self.repeats[-1]

    def standing(self, repeat):
        """How many of the repeats so far are less even than this one."""
        return sum(1 for other in self.repeats if other.evenness < repeat.evenness)

    def mean_density(self):
        if not self.repeats:
            return 0.0
        return sum(repeat.density for repeat in self.repeats) / len(self.repeats)


def spread_of(threads):
    return float(cp.abs(threads[1:] - threads[:-1]).mean())


def main():
    workshop = Workshop(Pillow())
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        workshop.pillow.cross(rounds)
        rounds += 1
        if rounds % ROUNDS_PER_REPEAT == 0:
            spread = spread_of(workshop.pillow.threads)
            repeat = workshop.finish()
            print(f"repeat {repeat.number}: density {repeat.density:.4f}, evenness {repeat.evenness:.4f}, "
                  f"better than {workshop.standing(repeat)}, spread {spread:.4f}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{len(workshop.repeats)} repeats in the book, mean density {workshop.mean_density():.4f}", flush=True)


if __name__ == "__main__":
    main()
