"""Measures stars on scanned photographic plates of an old observatory. Each plate has a small side file on disk, into
which the stars found so far are written while it is measured; it is removed when the plate is no longer used, at the
latest when the program ends.

ticket: practice
class: host-growth
holder: finalize close Plate
cause: registered-for-the-end closure-kept
"""

import json
import os
import random
import tempfile
import time
import weakref

import numpy as np

SIZE, CELL = 768, 32


def scan(rng):
    """The pixels of a plate: the grain of the emulsion, and stars of all magnitudes."""
    pixels = rng.normal(100, 4, (SIZE, SIZE)).astype(np.float32)  # grows
    glow = np.exp(-np.add.outer(np.arange(-4, 5) ** 2, np.arange(-4, 5) ** 2) / 5)
    for _ in range(150):
        down, across = rng.integers(4, SIZE - 5, 2)
        pixels[down - 4 : down + 5, across - 4 : across + 5] += rng.exponential(80) * glow
    return pixels


class Plate:
    def __init__(self, number, rng):
        self.number = number
        self.pixels = scan(rng)  # grows
        descriptor, self.side_file = tempfile.mkstemp(prefix=f"plate{number}-", suffix=".json")
        os.close(descriptor)
        weakref.finalize(self, self.close)  # keeps

    def close(self):
        """Removes the side file."""
        if os.path.exists(self.side_file):
            os.unlink(self.side_file)

    def background(self):
        cells = self.pixels.reshape(SIZE // CELL, CELL, SIZE // CELL, CELL)
        return np.median(cells, axis=(1, 3))

    def stars(self, sigmas=6):
        """The places and brightnesses of the pixels that stand out and are brighter than their neighbours."""
        flat = self.pixels - np.kron(self.background(), np.ones((CELL, CELL), np.float32))
        middle = flat[1:-1, 1:-1]
        peak = middle > sigmas * flat.std()
        for down, across in ((0, 1), (2, 1), (1, 0), (1, 2)):
            peak &= middle >= flat[down : down + SIZE - 2, across : across + SIZE - 2]
        places = np.argwhere(peak) + 1
        return [(int(y), int(x), float(flat[y, x])) for y, x in places]

    def save(self, stars):
        with open(self.side_file, "w") as file:
            json.dump(stars, file)


def measure(number, rng):
    plate = Plate(number, rng)  # grows
    stars = plate.stars()
    plate.save(stars)
    return len(stars), max((brightness for _, _, brightness in stars), default=0.0)


def main():
    rng, number, total = np.random.default_rng(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        count, brightest = measure(number, rng)
        total += count
        if number % 10 == 0:
            print(f"plate {number}: {count} stars, the brightest {brightest:.0f}; {total} in all", flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
