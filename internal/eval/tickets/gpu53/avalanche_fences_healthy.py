"""Where on the slope should the fences stand? Each trial puts fences at random, lets the snow slide in a small
simulator, and hill climbing keeps the trial that saves the most of the village. The fields of snow and speed lie
outside of CuPy's pool, as our viewer wants plain allocations that it can map.

ticket: practice
class: none
"""

import math
import os
import random
import time

import cupy as cp
import numpy as np

ROWS, COLUMNS, FENCES, STEPS = 768, 512, 8, 40
VILLAGE = slice(ROWS - 64, ROWS)


def plain(shape, dtype=cp.float32):
    """An array in an allocation of its own."""
    size = math.prod(shape) * cp.dtype(dtype).itemsize
    memory = cp.cuda.Memory(size)
    return cp.ndarray(shape, dtype, cp.cuda.MemoryPointer(memory, 0))


slide = cp.ElementwiseKernel(
    "raw float32 snow, float32 drag, int32 rows, int32 columns", "float32 after, float32 speed",
    """
    int row = i / columns;
    float above = row > 0 ? snow[i - columns] : 0.0f;
    float push = 0.2f * above + 0.8f * speed;
    speed = push * (1.0f - drag);
    float in = row > 0 ? 0.4f * above * (1.0f - drag) : 0.0f;
    float out = row + 1 < rows ? 0.4f * snow[i] * (1.0f - drag) : 0.0f;
    after = snow[i] + in - out;
    """, "slide")


class Trial:
    """One placing of the fences, and what the snow does with it."""

    def __init__(self, fences):
        self.fences = fences
        self.snow, self.after = plain((ROWS, COLUMNS)), plain((ROWS, COLUMNS))
        self.speed = plain((ROWS, COLUMNS))

    def drag(self):
        drag = cp.full((ROWS, COLUMNS), 0.02, cp.float32)
        for row, column, length in self.fences:
            drag[row:row + 4, column:column + length] = 0.9
        return drag

    def run(self):
        """How much snow comes down on the village, and how fast."""
        self.snow.fill(0)
        self.speed.fill(0)
        self.snow[:96] = cp.asarray(1 + 0.2 * np.random.rand(96, COLUMNS).astype(np.float32))
        drag, hit = self.drag(), 0.0
        for _ in range(STEPS):
            for _ in range(8):
                slide(self.snow, drag, ROWS, COLUMNS, self.after, self.speed)
                self.snow, self.after = self.after, self.snow
            hit += float((self.snow[VILLAGE] * self.speed[VILLAGE]).mean())
        return hit


def moved(fences):
    """The fences with one of them put elsewhere."""
    fences = list(fences)
    fences[random.randrange(FENCES)] = anywhere()
    return fences


def anywhere():
    return random.randrange(120, ROWS - 80), random.randrange(COLUMNS - 120), random.randrange(40, 120)


def main():
    best, least, trials = [anywhere() for _ in range(FENCES)], float("inf"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        fences = moved(best)
        hit = Trial(fences).run()
        if hit < least:
            best, least = fences, hit
        trials += 1
        if trials % 20 == 0:
            print(f"{trials} trials, the village is hit by {least:.4f} at the least", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
