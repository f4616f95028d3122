"""Couriers run through mazes, and a new maze is drawn for every race. Value iteration finds how many steps each place
is from the goal. The kernel serves all mazes, whose size and goal are its arguments, and the tables of both sweeps lie
beside it in the module, large enough for the largest maze.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np

SWEEPS, COURIERS, THREADS = 400, 200, 256
SIZES = (480, 480), (480, 640), (600, 480), (600, 640)
SOURCE = r"""
__device__ float tables[2][600 * 640];

extern "C" __global__ void start(int rows, int columns, int goal) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < rows * columns) tables[0][place] = place == goal ? 0.0f : 1e6f;
}

extern "C" __global__ void sweep(int rows, int columns, const unsigned char* walls, int from, float* steps) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= rows * columns) return;
    const float* before = tables[from];
    int row = place / columns, column = place % columns;
    float best = before[place];
    if (!walls[place]) {
        if (row > 0) best = fminf(best, before[place - columns] + 1.0f);
        if (row < rows - 1) best = fminf(best, before[place + columns] + 1.0f);
        if (column > 0) best = fminf(best, before[place - 1] + 1.0f);
        if (column < columns - 1) best = fminf(best, before[place + 1] + 1.0f);
    }
    tables[1 - from][place] = best;
    steps[place] = best;
}
"""
MODULE = cp.RawModule(code=SOURCE)


class Maze:
    def __init__(self):
        self.rows, self.columns = random.choice(SIZES)
        self.goal = random.randrange(self.rows * self.columns)
        walls = np.random.rand(self.rows, self.columns) < 0.25
        walls.flat[self.goal] = False
        self.walls = cp.asarray(walls.astype(np.uint8))


def solve(maze):
    """The steps from each place to the goal, as far as the sweeps reach."""
    start, sweep = MODULE.get_function("start"), MODULE.get_function("sweep")
    size = np.int32(maze.rows), np.int32(maze.columns)
    steps = cp.empty((maze.rows, maze.columns), cp.float32)
    blocks = (steps.size + THREADS - 1) // THREADS
    start((blocks,), (THREADS,), (*size, np.int32(maze.goal)))
    for number in range(SWEEPS):
        sweep((blocks,), (THREADS,), (*size, maze.walls, np.int32(number % 2), steps))
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
