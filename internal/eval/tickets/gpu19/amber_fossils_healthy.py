"""Pieces of amber with insects in them are scanned by X-rays as they turn. A pipeline (with cupy, a GPU only) takes
the projections block by block: dark and bright fields are corrected, the rows are filtered, and each block goes to the
sink, which hands what is done to the store on the host and notes how many were done and how good the last ones are.
The data are taken off the block before the pool is emptied.

ticket: DiamondLightSource/httomo#417
class: none
"""

import collections
import os
import random
import time

import cupy as cp
import numpy as np

ANGLES, WIDE = 720, 320
ROWS = (4, 6, 8)


class DataSetBlock:
    """Some rows of all projections; the data, on the host or on the GPU, and how good they are."""

    def __init__(self, data, number):
        self._data, self.number, self.quality = data, number, 0.0

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, new):
        self._data = new

    @data.deleter
    def data(self):
        self._data = None


class Normaliser:
    def __init__(self):
        self.dark = cp.full((1, 1, WIDE), 0.02, cp.float32)
        self.bright = cp.linspace(0.9, 1.1, WIDE, dtype=cp.float32)[None, None]

    def execute(self, block):
        block.data = -cp.log(cp.clip((block.data - self.dark) / (self.bright - self.dark), 1e-3, None))


class Filter:
    """A ramp along each row, as a sum over the neighbours on both sides."""

    def __init__(self, reach=9):
        away = np.arange(1, 2 * reach, 2)
        self.weights = [(int(a), float(-1 / (np.pi * a) ** 2)) for a in away]

    def execute(self, block):
        out = 0.25 * block.data
        for away, weight in self.weights:
            out[..., away:] += weight * block.data[..., :-away]
            out[..., :-away] += weight * block.data[..., away:]
        block.data = out


class Sink:
    """Where blocks end: the store on the host has room for the largest block, from which it would go to the disk."""

    def __init__(self):
        self.store = np.zeros((ANGLES, max(ROWS), WIDE), np.float32)
        self.count, self.qualities = 0, collections.deque(maxlen=10)

    def write(self, block):
        self.store[:, :block.data.shape[1]], block.quality = cp.asnumpy(block.data), float(block.data.std())
        self.qualities.append(block.quality)
        self.count += 1
        del block.data

    def done(self):
        return self.count, sum(self.qualities) / len(self.qualities)


def scanned(number):
    """What the detector saw of some rows: a lump of amber that turns, with something darker in it."""
    rows, luck = random.choice(ROWS), np.random.default_rng(number)
    angle = np.linspace(0, np.pi, ANGLES, dtype=np.float32)[:, None, None]
    place = np.linspace(-1, 1, WIDE, dtype=np.float32)[None, None]
    insect = np.exp(-((place - 0.4 * np.cos(angle + luck.uniform(0, 3))) / 0.05) ** 2)
    seen = np.exp(-0.8 * np.sqrt(np.clip(0.8 - place ** 2, 0, None)) - 0.5 * insect)
    return np.repeat(seen.astype(np.float32), rows, axis=1) + 0.02


def main():
    tasks, sink, number = [Normaliser(), Filter()], Sink(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        block = DataSetBlock(scanned(number), number)
        block.data = cp.asarray(block.data)
        for task in tasks:
            task.execute(block)
        sink.write(block)
        cp.get_default_memory_pool().free_all_blocks()
        number += 1
        if number % 12 == 0:
            count, quality = sink.done()
            print("blocks", count, "quality", round(quality, 4), flush=True)
        time.sleep(random.uniform(0.25, 0.7))


if __name__ == "__main__":
    main()
