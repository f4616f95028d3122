"""A camera watches the night sky for meteors: what is brighter than the sky was a moment ago is cut out and kept for
the night's report, the last two thousand at most. The cut-outs are views, and so each keeps the whole picture.

ticket: practice
class: host-growth
holder: sightings patch base
cause: results-kept
"""

import os
import random
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

HEIGHT, WIDTH, HALF = 480, 752, 12


class Camera:
    """Stars that stand still, noise, and now and then a streak."""

    def __init__(self, seed):
        self.chance = np.random.default_rng(seed)
        self.sky = np.full((HEIGHT, WIDTH), 18, np.uint8)
        rows, columns = self.chance.integers(0, HEIGHT, 300), self.chance.integers(0, WIDTH, 300)
        self.sky[rows, columns] = self.chance.integers(60, 200, 300)

    def shoot(self):
        picture = self.sky + self.chance.integers(0, 12, self.sky.shape, dtype=np.uint8)  # grows
        streaks = int(self.chance.random() < 0.7) + int(self.chance.random() < 0.1)
        for _ in range(streaks):
            row, column = self.chance.integers(20, HEIGHT - 20), self.chance.integers(20, WIDTH - 40)
            length, slope = int(self.chance.integers(8, 20)), self.chance.uniform(-0.5, 0.5)
            along = np.arange(length)
            picture[(row + slope * along).astype(int), column + along] = 250
        return picture


@dataclass
class Sighting:
    when: float
    row: int
    column: int
    bright: float
    patch: np.ndarray


class Watch:
    def __init__(self):
        self.before, self.sightings, self.seen = None, deque(maxlen=2000), 0

    def look(self, picture):
        """Finds the brightest change and keeps its surroundings."""
        before, self.before = self.before, picture
        if before is None:
            return None
        change = picture.astype(np.int16) - before
        row, column = np.unravel_index(int(change.argmax()), change.shape)
        if change[row, column] < 100:
            return None
        top, left = max(row - HALF, 0), max(column - HALF, 0)
        patch = picture[top:row + HALF, left:column + HALF]
        found = Sighting(time.time(), int(row), int(column), float(patch.mean()), patch)
        self.sightings.append(found)  # keeps
        self.seen += 1
        return found

    def report(self):
        bright = np.array([sighting.bright for sighting in self.sightings] or [0.0])
        sharp = [float(np.ptp(sighting.patch)) for sighting in list(self.sightings)[-20:]]
        return f"{self.seen} sightings, brightness {bright.mean():.1f}, contrast {np.mean(sharp or [0]):.0f}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    camera, watch, told = Camera(11), Watch(), time.time()
    pictures = 0
    while time.time() < end:
        watch.look(camera.shoot())
        pictures += 1
        if time.time() - told > 2.5:
            print(pictures, "pictures,", watch.report(), flush=True)
            told = time.time()
        time.sleep(random.uniform(0.04, 0.12))


if __name__ == "__main__":
    main()
