"""A radar sees geese on their way south. Each turn of the dish brings some thousands of echoes, which are put into
pinned memory, copied to the device and matched with the tracks of the flocks there: every echo pulls the nearest track
a little to itself. The staging memory is allocated once for each size, since pinning pages takes long.

ticket: practice
class: host-growth
holder: buffers Staging
cause: pinned-staging cache-without-bound size-class-misses
"""

import os
import random
import time

import cupy as cp
import cupyx
import numpy as np

FLOCKS, MEASURES, FEWEST, MOST = 64, 48, 6_000, 26_000


class Staging:
    """Pinned memory through which echoes get to the device."""

    def __init__(self):
        self.buffers = {}  # number of echoes: memory for so many
        self.device = cp.empty((MOST, MEASURES), dtype=cp.float32)

    def buffer(self, count):
        if count not in self.buffers:
            self.buffers[count] = cupyx.empty_pinned((count, MEASURES), dtype=np.float32)  # grows keeps
        return self.buffers[count]

    def send(self, parts):
        """Joins the parts of one turn in pinned memory, and copies them to the device."""
        count = sum(len(part) for part in parts)
        staged, first = self.buffer(count), 0
        for part in parts:
            staged[first:first + len(part)] = part
            first += len(part)
        echoes = self.device[:count]
        echoes.set(staged)
        return echoes


class Tracks:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.places = cp.asarray(rng.standard_normal((FLOCKS, MEASURES), dtype=np.float32))
        self.seen = cp.zeros(FLOCKS, dtype=cp.float32)

    def match(self, echoes):
        """Pulls the tracks to their echoes; the mean distance of the echoes to them comes back."""
        squares = (self.places ** 2).sum(axis=1)
        distances = squares - 2 * echoes @ self.places.T
        nearest = distances.argmin(axis=1)
        members = (nearest[:, None] == cp.arange(FLOCKS)).astype(cp.float32)
        counts = members.sum(axis=0)
        means = members.T @ echoes / cp.maximum(counts, 1)[:, None]
        self.places += 0.05 * (counts > 0)[:, None] * (means - self.places)
        self.seen += counts
        return float((distances.min(axis=1) + (echoes ** 2).sum(axis=1)).mean())


def turn(rng, centres):
    """The echoes of one turn of the dish, sector by sector."""
    count = random.randrange(FEWEST, MOST)
    for share in np.array_split(np.arange(count), 8):
        flocks = centres[rng.integers(FLOCKS, size=len(share))]
        yield flocks + 0.5 * rng.standard_normal((len(share), MEASURES), dtype=np.float32)


def main():
    rng = np.random.default_rng(11)
    centres = rng.standard_normal((FLOCKS, MEASURES), dtype=np.float32)
    staging, tracks, turns = Staging(), Tracks(12), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        echoes = staging.send(list(turn(rng, centres)))
        distance = tracks.match(echoes)
        turns += 1
        if turns % 20 == 0:
            print(f"turn {turns}: {len(echoes)} echoes, distance {distance:.2f}, "
                  f"the largest flock {int(tracks.seen.argmax())}", flush=True)
        time.sleep(random.uniform(0.04, 0.2))


if __name__ == "__main__":
    main()
