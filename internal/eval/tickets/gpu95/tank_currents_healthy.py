"""Currents in the tanks of a large aquarium, for the placing of pumps and filters (CuPy).

Each proposal (a tank with pumps at some places) is computed as a shallow basin in which the pumps push the water, the
walls brake it and dye shows where it comes to a standstill. The proposals of the curators are worked through one after
the other, about one a second. The device is shared with other departments; so each proposal is computed with a
memory pool of its own, and the bill says how much memory it took.

    ticket: practice
    class: none
"""
import os
import time
from dataclasses import dataclass

import cupy as cp
import numpy as np

STEPS = 12
STEP_TIME = 0.08
WAVE = 0.35


@dataclass(frozen=True)
class Proposal:
    number: int
    rows: int
    columns: int
    pumps: tuple

    @classmethod
    def draw(cls, number, numbers):
        rows, columns = ((512, 640), (448, 704), (512, 576))[number % 3]
        places = numbers.random((3, 2)) * 0.8 + 0.1
        pumps = tuple((int(y * rows), int(x * columns)) for y, x in places)
        return cls(number, rows, columns, pumps)


class Basin:
    """Height of the surface, flow in both directions and dye, each on the grid of the tank."""

    def __init__(self, proposal):
        shape = (proposal.rows, proposal.columns)
        self.level = cp.zeros(shape, dtype=cp.float32)
        self.east = cp.zeros(shape, dtype=cp.float32)
        self.south = cp.zeros(shape, dtype=cp.float32)
        self.dye = cp.full(shape, 0.5, dtype=cp.float32)
        self.pumps = proposal.pumps

    def push(self, strength):
        for row, column in self.pumps:
            spot = (slice(row - 6, row + 6), slice(column - 6, column + 6))
            self.level[spot] += strength
            self.dye[spot] = 1.0

    def flow(self):
        self.east[:, 1:] -= WAVE * (self.level[:, 1:] - self.level[:, :-1])
        self.south[1:, :] -= WAVE * (self.level[1:, :] - self.level[:-1, :])
        self.east *= 0.995
        self.south *= 0.995
        self.level[:, :-1] -= WAVE * (self.east[:, 1:] - self.east[:, :-1])
        self.level[:-1, :] -= WAVE * (self.south[1:, :] - self.south[:-1, :])

    def carry(self):
        middle = self.dye[1:-1, 1:-1]
        spread = self.dye[1:-1, 2:] + self.dye[1:-1, :-2] - 4.0 * middle
        spread += self.dye[2:, 1:-1] + self.dye[:-2, 1:-1]
        drift = self.east[1:-1, 1:-1] * (self.dye[1:-1, 2:] - self.dye[1:-1, :-2])
        drift += self.south[1:-1, 1:-1] * (self.dye[2:, 1:-1] - self.dye[:-2, 1:-1])
        self.dye[1:-1, 1:-1] = cp.clip(middle + 0.1 * spread - 0.5 * drift, 0.0, 1.0)

    def standstill(self):
        speed = cp.sqrt(self.east * self.east + self.south * self.south)
        return float((speed < 0.01).mean())


def compute(proposal):
    basin = Basin(proposal)
    for step in range(STEPS):
        basin.push(0.2 if step % 2 else 0.3)
        for _ in range(4):
            basin.flow()
        basin.carry()
        time.sleep(STEP_TIME)
    return basin.standstill()


class Office:
    """Has proposals computed and writes the bills."""

    def __init__(self):
        self.bills = {}
        self.best = (1.0, None)

    def handle(self, proposal):
        pool = cp.cuda.MemoryPool()
        with cp.cuda.using_allocator(pool.malloc):
            still = compute(proposal)
        self.bills[proposal.number] = pool.total_bytes()
        pool.free_all_blocks()
        self.best = min(self.best, (still, proposal.number))

    def latest_bill(self):
        return self.bills[max(self.bills)] / 2 ** 20


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    numbers = np.random.default_rng(1853)
    office = Office()
    proposal = Proposal.draw(0, numbers)
    while time.time() < end:
        office.handle(proposal)
        if proposal.number % 3 == 2:
            still, number = office.best
            print(f"proposal {proposal.number}: {office.latest_bill():.1f} MiB billed, best so far {number} "
                  f"with {still:.1%} standing water", flush=True)
        proposal = Proposal.draw(proposal.number + 1, numbers)


if __name__ == "__main__":
    main()
