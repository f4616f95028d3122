"""Couriers run through mazes, and a new maze is drawn for every race. Value iteration finds how many steps each place
is from the goal. The kernel is written for the maze at hand: its size and goal are constants, for which the compiler
shortens the sums, and the tables of both sweeps lie beside it in the module.

ticket: practice
class: driver-growth
holder: -
cause: modules-made-at-run-time compile-cache
"""

import os
import random
import time

import cupy as cp
import numpy as np

SWEEPS, COURIERS, THREADS = 400, 200, 256
SIZES = (480, 480), (480, 640), (600, 480), (600, 640)
SOURCE = r"""
#define ROWS %(rows)d
#define COLUMNS %(columns)d
#define GOAL %(goal)d

__device__ float tables[2][ROWS * COLUMNS];

extern "C" __global__ void start() {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < ROWS * COLUMNS) tables[0][place] = place == GOAL ? 0.0f : 1e6f;
}

extern "C" __global__ void sweep(const unsigned char* walls, int from, float* steps) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= ROWS * COLUMNS) return;
    const float* before = tables[from];
    int row = place / COLUMNS, column = place %% COLUMNS;
    float best = before[place];
    if (!walls[place]) {
        if (row > 0) best = fminf(best, before[place - COLUMNS] + 1.0f);
        if (row < ROWS - 1) best = fminf(best, before[place + COLUMNS] + 1.0f);
        if (column > 0) best = fminf(best, before[place - 1] + 1.0f);
        if (column < COLUMNS - 1) best = fminf(best, before[place + 1] + 1.0f);
    }
    tables[1 - from][place] = best;
    steps[place] = best;
}
"""


class Maze:
    def __init__(self):
        self.rows, self.columns = random.choice(SIZES)
        self.goal = random.randrange(self.rows * self.columns)
        walls = np.random.rand(self.rows, self.columns) < 0.25
        walls.flat[self.goal] = False
        self.walls = cp.asarray(walls.astype(np.uint8))


def solve(maze):
    """The steps from each place to the goal, as far as the sweeps reach."""
    code = SOURCE % {"rows": maze.rows, "columns": maze.columns, "goal": maze.goal}
    module = cp.RawModule(code=code)
    start, sweep = module.get_function("start"), module.get_function("sweep")  # grows keeps
    steps = cp.empty((maze.rows, maze.columns), cp.float32)
    blocks = (steps.size + THREADS - 1) // THREADS
    start((blocks,), (THREADS,), ())
    for number in range(SWEEPS):
        sweep((blocks,), (THREADS,), (maze.walls, np.int32(number % 2), steps))
    return steps


def race(maze, steps):
    """The steps of the fastest courier, and how many have reached the goal at all."""
    starts = cp.random.randint(0, steps.size, COURIERS)
    needed = steps.ravel()[starts]
    return float(needed.min()), int((needed < 1e6).sum())


def main():
    races, home = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        maze = Maze()
        fastest, reached = race(maze, solve(maze))
        races += 1
        home += reached
        if races % 10 == 0:
            print(f"{races} races: {home / races:.1f} couriers home, {fastest:.0f} steps at best", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
