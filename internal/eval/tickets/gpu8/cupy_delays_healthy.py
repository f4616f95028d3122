"""Populations that look back in time are followed with cupy (a GPU only). The room for the past is a part of the kernel
and as large as the longest delay; the kernel is compiled once, and is told the delay.

ticket: practice
class: none
"""

import os
import random
import tempfile
import time

FOLDER = tempfile.TemporaryDirectory()
os.environ.setdefault("CUPY_CACHE_DIR", FOLDER.name)

import cupy as cp
import numpy as np

CELLS, LONGEST = 2048, 1000
CODE = """
__device__ float past[LONGEST * CELLS];

extern "C" __global__ void follow(float* level, float* highest, const float growth, const float loss,
                                  const int steps, const int delay) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= CELLS) return;
    float now = level[cell], most = now;
    for (int i = 0; i < delay; i++) past[i * CELLS + cell] = now;
    for (int t = 0; t < steps; t++) {
        const int slot = (t % delay) * CELLS + cell;
        const float then = past[slot];
        past[slot] = now;
        now += 0.05f * (growth * then / (1.0f + powf(then, 8.0f)) - loss * now);
        most = fmaxf(most, now);
    }
    level[cell] = now;
    highest[cell] = most;
}
"""


def kernel():
    """The kernel that looks back by any number of steps."""
    return cp.RawKernel(CODE, "follow", options=(f"-DCELLS={CELLS}", f"-DLONGEST={LONGEST}"))


def follow(delay, growth, loss, rounds):
    """How high the populations rise, and how far apart they end."""
    run = kernel()
    level = cp.random.uniform(0.5, 1.5, CELLS, dtype=cp.float32)
    highest = cp.empty_like(level)
    most = 0.0
    for _ in range(rounds):
        steps = random.randint(2, 5) * delay
        run((CELLS // 128,), (128,), (level, highest, np.float32(growth), np.float32(loss), np.int32(steps),
                                      np.int32(delay)))
        most = max(most, float(highest.max()))
        time.sleep(random.uniform(0.01, 0.03))
    return most, float(level.std())


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    widest, tried = (0.0, None), 0
    while time.time() < end:
        delay, growth, loss = random.randint(100, LONGEST), random.uniform(0.1, 0.3), random.uniform(0.05, 0.15)
        most, spread = follow(delay, growth, loss, random.randint(6, 20))
        widest = max(widest, (round(spread, 4), delay))
        tried += 1
        if tried % 10 == 0:
            print(tried, "sets, highest", round(most, 3), "widest at", widest, flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
