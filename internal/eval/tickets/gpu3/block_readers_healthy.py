"""Tomography: a pipeline goes through the blocks of a scan, each with a reader and a writer that have a buffer
on the device. They are finalized when they are gone, by a method of the store, which is no part of them.

ticket: DiamondLightSource/httomo#265
class: none
"""

import logging
import os
import random
import time
import weakref

import cupy as cp

log = logging.getLogger("pipeline")
ANGLES, WIDTH = 360, 640


class Store:
    """What a step of the pipeline leaves to the next."""

    def __init__(self, slices):
        self.slices, self.closed = slices, 0

    def close(self, name):
        self.closed += 1
        log.debug("closed %s", name)


class BlockReader:
    def __init__(self, store, name):
        self.store, self.name = store, name
        self.block = cp.random.random((store.slices, ANGLES, WIDTH), dtype=cp.float32)
        weakref.finalize(self, store.close, name)

    def read(self):
        return self.block - self.block.min()


class BlockWriter:
    def __init__(self, store, name, shape):
        self.store, self.name = store, name
        self.block = cp.zeros(shape, dtype=cp.float32)
        weakref.finalize(self, store.close, name)

    def write(self, block):
        self.block[...] = block


class Pipeline:
    def __init__(self):
        ramp = cp.abs(cp.fft.rfftfreq(WIDTH)).astype(cp.float32)
        self.steps = [lambda block: -cp.log(block + 0.01),
                      lambda block: cp.fft.irfft(cp.fft.rfft(block, axis=2) * ramp, n=WIDTH, axis=2),
                      lambda block: block - block.mean(axis=1, keepdims=True)]

    def run(self, store, number):
        reader = BlockReader(store, "reader-%d" % number)
        block = reader.read()
        for step in self.steps:
            block = step(block).astype(cp.float32)
        writer = BlockWriter(store, "writer-%d" % number, block.shape)
        writer.write(block)
        return float(writer.block.std())


def main():
    logging.basicConfig(level=logging.INFO)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    pipeline, scan, number = Pipeline(), 0, 0
    while time.time() < end:
        scan += 1
        store = Store(random.choice([2, 3, 4, 5]))
        for _ in range(random.randint(4, 9)):
            number += 1
            spread = pipeline.run(store, number)
            time.sleep(random.uniform(0.2, 0.5))
        log.info("scan %d: %d blocks, spread %.3f", scan, number, spread)
        time.sleep(random.choice([0.2, 1.0]))


if __name__ == "__main__":
    main()
