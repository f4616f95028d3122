"""Maps the lichen on photographs of gravestones: how much of a stone is covered, and how rough the cover is. Each stone
gets a memory pool of its own, so that it can be told afterwards which stone took the most memory.

ticket: practice
class: pool-growth
holder: pools Ledger MemoryPool
cause: pool-never-trims
"""

import os
import random
import time

import cupy as cp
import numpy as np

HEIGHT, WIDTH, ROUNDS = 512, 640, 12


class Ledger:
    """What the stones took, and what was found on them."""

    def __init__(self):
        self.pools, self.stones, self.cover = {}, 0, 0.0

    def add(self, name, pool, cover):
        self.pools[name] = pool  # keeps
        self.stones += 1
        self.cover += (cover - self.cover) / self.stones

    def largest(self):
        name = max(self.pools, key=lambda stone: self.pools[stone].total_bytes())
        return name, self.pools[name].total_bytes()


def photograph(rng):
    """A grey stone with some round spots of lichen."""
    stone = rng.uniform(0.35, 0.5, (HEIGHT, WIDTH, 3)).astype(np.float32)
    rows, columns = np.ogrid[:HEIGHT, :WIDTH]
    for _ in range(rng.integers(3, 9)):
        row, column, radius = rng.integers(HEIGHT), rng.integers(WIDTH), rng.integers(15, 60)
        stone[(rows - row) ** 2 + (columns - column) ** 2 < radius**2] += np.float32([0.1, 0.3, 0.0])
    return stone


def smooth(image):
    """The image in which each pixel is the mean of itself and its four neighbours."""
    total = image.copy()
    total[1:] += image[:-1]
    total[:-1] += image[1:]
    total[:, 1:] += image[:, :-1]
    total[:, :-1] += image[:, 1:]
    return total / 5


def survey(photo):
    """The share of the stone that is covered, and how rough the cover is."""
    image = cp.asarray(photo)
    green = image[:, :, 1] - (image[:, :, 0] + image[:, :, 2]) / 2
    for _ in range(ROUNDS):
        green = smooth(green)
    covered = green > 0.12
    edges = cp.abs(covered[1:].astype(cp.float32) - covered[:-1].astype(cp.float32))
    return float(covered.mean()), float(edges.sum() / (covered.sum() + 1))


def work(name, photo, ledger):
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        cover, rough = survey(photo)  # grows
    ledger.add(name, pool, cover)
    return cover, rough


def main():
    rng, ledger = np.random.default_rng(11), Ledger()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        name = f"stone {ledger.stones + 1}"
        cover, rough = work(name, photograph(rng), ledger)
        if ledger.stones % 10 == 0:
            largest, size = ledger.largest()
            print(f"{name}: {cover:.1%} covered, rough {rough:.3f}; mean {ledger.cover:.1%}", flush=True)
            print(f"  {largest} took the most memory, {size / 2**20:.1f} MiB", flush=True)
        time.sleep(random.uniform(0.2, 0.4))


if __name__ == "__main__":
    main()
