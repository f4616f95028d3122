"""A producer hands batches over in shared memory. The consumer closes each when it has read it.

ticket: python/cpython: shared memory not closed
class: none
"""

import os
import random
import time
from multiprocessing import shared_memory

import numpy as np


class Consumer:
    def __init__(self):
        self.opened = {}

    def read(self, name, shape):
        block = shared_memory.SharedMemory(name=name)
        self.opened[name] = block
        array = np.ndarray(shape, np.float32, block.buf)
        total = float(array.sum())
        del array
        self.opened.pop(name).close()
        return total


def produce(shape):
    block = shared_memory.SharedMemory(create=True, size=int(np.prod(shape)) * 4)
    array = np.ndarray(shape, np.float32, block.buf)
    array[:] = np.random.rand(*shape)
    del array
    block.close()
    return block


def main():
    consumer, end, batches = Consumer(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        shape = random.randint(20, 60), 1024
        block = produce(shape)
        total = consumer.read(block.name, shape)
        block.unlink()
        batches += 1
        if batches % 100 == 0:
            print(batches, total, flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
