"""A random search for the anisotropy and the undercooling with which frost grows the most branched crystals. Each trial
grows one crystal by the phase-field method. It has a memory pool of its own, so the trials do not cut up each other's
blocks and the report can say how much device memory a trial took.

ticket: practice
class: pool-growth
holder: trials Trial pool
cause: pool-never-trims
"""

import contextlib
import os
import random
import time
from dataclasses import dataclass
from typing import Any

import torch

SIDE, STEPS, PACE = 704, 40, 0.00015


@dataclass
class Trial:
    anisotropy: float
    cooling: float
    branching: float
    pool: Any

    def megabytes(self):
        if self.pool is None:
            return 0.0
        return sum(segment["total_size"] for segment in self.pool.snapshot()) / 2**20


def make_pool(device):
    return torch.cuda.MemPool() if device == "cuda" else None


def inside(pool):
    return contextlib.nullcontext() if pool is None else torch.cuda.use_mem_pool(pool)


def laplacian(field):
    around = torch.roll(field, 1, 0) + torch.roll(field, -1, 0)
    return around + torch.roll(field, 1, 1) + torch.roll(field, -1, 1) - 4.0 * field  # grows


def slope(field, axis):
    return torch.roll(field, -1, axis) - torch.roll(field, 1, axis)


def seeds(device):
    """A few frozen spots in the cold: the phase and the heat."""
    phase = torch.zeros(SIDE, SIDE, device=device)  # grows
    for _ in range(30):
        row, column = random.randrange(SIDE - 8), random.randrange(SIDE - 8)
        phase[row:row + 8, column:column + 8] = 1.0
    return phase, torch.zeros_like(phase)  # grows


def grow(anisotropy, cooling, device):
    """How branched the crystals are: their edge by the root of their area."""
    phase, heat = seeds(device)
    for _ in range(STEPS):
        angle = torch.atan2(slope(phase, 0), slope(phase, 1))
        width = 0.01 * (1.0 + anisotropy * torch.cos(6.0 * angle))
        drive = 0.3 * torch.atan(10.0 * (cooling - heat))
        change = (width ** 2 * 1.1e3 * laplacian(phase) + phase * (1.0 - phase) * (phase - 0.5 + drive)) * PACE / 3e-4
        phase = phase + change  # grows
        heat = heat + 0.2 * laplacian(heat) + 1.6 * change  # grows
        time.sleep(0.02)
    edge = (slope(phase, 0).abs() + slope(phase, 1).abs()).sum()
    return (edge / phase.sum().sqrt()).item()


class Search:
    def __init__(self, device):
        self.device = device
        self.trials = []

    def run_trial(self):
        anisotropy, cooling = random.uniform(0.0, 0.4), random.uniform(0.6, 1.4)
        pool = make_pool(self.device)
        with inside(pool):
            branching = grow(anisotropy, cooling, self.device)
        self.trials.append(Trial(anisotropy, cooling, branching, pool))  # keeps

    def report(self):
        best, last = max(self.trials, key=lambda trial: trial.branching), self.trials[-1]
        return (f"{len(self.trials)} trials, best {best.branching:.1f} with anisotropy {best.anisotropy:.2f}, "
                f"cooling {best.cooling:.2f}; the last took {last.megabytes():.0f} MiB")


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    search = Search("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        search.run_trial()
        print(search.report(), flush=True)
        time.sleep(random.uniform(0.2, 0.5))


if __name__ == "__main__":
    main()
