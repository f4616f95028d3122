"""Cars drive through the gates of a toll road, are photographed, and an engine reads their plates with cupy (a GPU
only). As with the engine of the maker, its input and its output are bound to plain device memory. How many cars there
are at once differs; when it is another number than before, input and output are given back and bound anew.

ticket: practice
class: none
"""

import os
import queue
import random
import tempfile
import threading
import time

os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp())

import cupy as cp
import numpy as np
from cupy.cuda import runtime

HIGH, WIDE, SIGNS, KINDS = 768, 1536, 7, 36
GATES = 1, 2, 3, 4

READ = cp.RawKernel(r"""
extern "C" __global__ void read_plates(const unsigned char* photos, float* scores, int high, int wide,
                                       int signs, int kinds) {
    int place = blockIdx.x * blockDim.x + threadIdx.x, car = blockIdx.y;
    if (place >= signs * kinds) return;
    int sign = place / kinds, kind = place % kinds, across = wide / signs;
    float score = 0.0f;
    for (int row = kind; row < high; row += kinds)
        for (int column = sign * across; column < (sign + 1) * across; column += 2)
            score += photos[((size_t) car * high + row) * wide + column] / 255.0f;
    scores[(size_t) car * signs * kinds + place] = score / high;
}
""", "read_plates")


class Binding:
    """Device memory that the engine knows by its address."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.cars, self.address = shape, np.dtype(dtype), 0, 0

    def resize(self, cars):
        if cars == self.cars:
            return
        size = cars * int(np.prod(self.shape)) * self.dtype.itemsize
        if self.address:
            runtime.free(self.address)
        self.address, self.cars = runtime.malloc(size), cars

    def array(self):
        """The same memory, as an array of cupy."""
        shape = (self.cars, *self.shape)
        size = int(np.prod(shape)) * self.dtype.itemsize
        memory = cp.cuda.UnownedMemory(self.address, size, None)
        return cp.ndarray(shape, self.dtype, cp.cuda.MemoryPointer(memory, 0))


class Engine:
    def __init__(self):
        self.photos, self.scores = Binding((HIGH, WIDE), np.uint8), Binding((SIGNS, KINDS), np.float32)

    def read(self, photos):
        for binding in (self.photos, self.scores):
            binding.resize(len(photos))
        self.photos.array().set(photos)
        READ((-(-SIGNS * KINDS // 64), len(photos)), (64,),
             (self.photos.array(), self.scores.array(), *map(np.int32, (HIGH, WIDE, SIGNS, KINDS))))
        return cp.asnumpy(self.scores.array()).argmax(-1)


def gates(photos, end):
    """Cars come one by one or several at once, and each is photographed."""
    while time.time() < end:
        cars = np.random.randint(0, 120, (random.choice(GATES), HIGH, WIDE), dtype=np.uint8)
        cars[:, ::random.choice((3, 5, 9))] += 100
        photos.put(cars)
        time.sleep(random.uniform(0.1, 0.4))
    photos.put(None)


def main():
    photos, engine, passed, signs = queue.Queue(maxsize=4), Engine(), 0, np.zeros(KINDS, np.int64)
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    road = threading.Thread(target=gates, args=(photos, end))
    road.start()
    while (cars := photos.get()) is not None:
        signs += np.bincount(engine.read(cars).ravel(), minlength=KINDS)
        passed += len(cars)
        if time.time() - said > 2:
            said = time.time()
            print("cars", passed, "most often read", int(signs.argmax()), "signs", int(signs.sum()), flush=True)
    road.join()


if __name__ == "__main__":
    main()
