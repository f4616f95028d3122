"""How a hall will sound is worked out by letting a clap of sound run through its ground plan, with cupy (a GPU only).
Halls are tried with walls of different stuff, which swallow more or less of the sound. The kernel comes from an old
program in C, which had everything as constants; they are written into its source before it is compiled, once a trial.

ticket: practice
class: driver-growth
holder: -
cause: compiled-functions-kept cache-without-bound per-shape-compile-cache
"""

import os
import random
import string
import tempfile
import time

os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp())

import cupy as cp
import numpy as np

ROWS, COLUMNS, STEPS = 480, 640, 300

SOURCE = string.Template("""
#define ROWS $rows
#define COLUMNS $columns
#define SWALLOW ${swallow}f
#define THICK ${thick}

__device__ float air[3][ROWS][COLUMNS];

extern "C" __global__ void hall(float *heard, int step) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < 1 || column < 1 || row >= ROWS - 1 || column >= COLUMNS - 1) return;
    float (*now)[COLUMNS] = air[step % 3], (*next)[COLUMNS] = air[(step + 1) % 3];
    float (*before)[COLUMNS] = air[(step + 2) % 3];
    if (step == 0) {
        now[row][column] = before[row][column] = next[row][column] = 0.0f;
        return;
    }
    float around = now[row - 1][column] + now[row + 1][column] + now[row][column - 1] + now[row][column + 1];
    float value = 2 * now[row][column] - before[row][column] + 0.4f * (around - 4 * now[row][column]);
    bool wall = row < THICK || column < THICK || row >= ROWS - THICK || column >= COLUMNS - THICK;
    if (wall) value *= 1.0f - SWALLOW;
    if (step < 20 && row == ROWS / 3 && column == COLUMNS / 4) value += __sinf(0.3f * step);
    next[row][column] = value;
    if (row == 2 * ROWS / 3 && column == 3 * COLUMNS / 4) heard[step] = value;
}
""")


class Hall:
    """A hall with walls of some stuff, in which one can clap."""

    def __init__(self, swallow, thick):
        code = SOURCE.substitute(rows=ROWS, columns=COLUMNS, swallow=repr(swallow), thick=thick)
        self.kernel = cp.RawKernel(code, "hall")
        self.heard = cp.zeros(STEPS, cp.float32)

    def clap(self):
        block = (32, 8)
        grid = (-(-COLUMNS // block[0]), -(-ROWS // block[1]))
        for step in range(STEPS):
            self.kernel(grid, block, (self.heard, np.int32(step)))  # grows keeps
        return self.heard


def ring(heard):
    """For how many steps the sound stays, by the energy that is still to come."""
    left = cp.cumsum(heard[::-1] ** 2)[::-1]
    return int((left > 0.01 * left[0]).sum())


def main():
    wanted, best, number = 220, None, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if best is None or random.random() < 0.4:
            swallow, thick = round(random.uniform(0.01, 0.6), 5), random.choice((2, 3, 4, 6))
        else:
            swallow, thick = round(min(max(best[1] + random.gauss(0, 0.03), 0.005), 0.9), 5), best[2]
        heard = Hall(swallow, thick).clap()
        number += 1
        trial = (abs(ring(heard) - wanted), swallow, thick)
        best = trial if best is None else min(best, trial)
        if number % 10 == 0:
            print("hall", number, "best swallows", best[1], "in", best[2], "rows, off by", best[0], flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
