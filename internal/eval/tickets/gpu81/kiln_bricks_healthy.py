"""Bricks in a kiln, as a service: potteries send bricks of several sizes, and it is computed how long each must stay in
the fire until its core is hot. Potteries pay for the memory that their bricks take, so each brick is computed in a pool
of its own, and the bill sums what the pools took from the GPU.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter
from contextlib import contextmanager

import cupy as cp

SIDES = (560, 640, 720)
POTTERIES = "Hearth", "Clay & Sons", "Redware"
FIRE, CORE, HOURS = 1050.0, 21.0, 300


class Ledger:
    """Who took how much memory of the GPU."""

    def __init__(self):
        self.taken = Counter()

    @contextmanager
    def account(self, pottery):
        pool = cp.cuda.MemoryPool()
        with cp.cuda.using_allocator(pool.malloc):
            yield
        self.taken[pottery] += pool.total_bytes()
        pool.free_all_blocks()

    def bill(self):
        return ", ".join(f"{pottery} {self.taken[pottery] / 2**20:.0f} MiB" for pottery in sorted(self.taken))


def fire(side):
    """The steps until the core of a brick with an uneven clay is hot, at most HOURS."""
    clay = 0.1 + 0.14 * cp.random.random((side, side), dtype=cp.float32)
    heat = cp.full((side, side), 20.0, dtype=cp.float32)
    core = slice(side // 2 - 8, side // 2 + 8)
    edge = side // 2 - 24
    for hour in range(HOURS):
        heat[:edge] = heat[-edge:] = FIRE
        heat[:, :edge] = heat[:, -edge:] = FIRE
        around = cp.roll(heat, 1, 0) + cp.roll(heat, -1, 0) + cp.roll(heat, 1, 1) + cp.roll(heat, -1, 1)
        heat += clay * (around - 4 * heat)
        if hour % 20 == 19 and float(heat[core, core].min()) > CORE:
            return hour + 1
    return HOURS


def main():
    ledger, bricks, hours = Ledger(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pottery = random.choice(POTTERIES)
        with ledger.account(pottery):
            hours += fire(random.choice(SIDES))
        bricks += 1
        if bricks % 5 == 0:
            print(f"{bricks} bricks, {hours / bricks:.0f} hours on average; {ledger.bill()}", flush=True)
        time.sleep(random.uniform(0.3, 0.6))


if __name__ == "__main__":
    main()
