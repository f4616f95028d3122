"""How much should a bee stray from the tours that it knows? Tours over the flowers of a meadow are evolved as random
keys, and a search tries one rate of straying after the other. Every trial has a memory pool of its own, in order that
the trials do not break up each other's memory; now and then the best one goes on for longer, in its pool.

ticket: practice
class: pool-growth
holder: trials Trial pool
cause: pool-never-trims
"""

import contextlib
import math
import os
import random
import time
from dataclasses import dataclass

import torch

FLOWERS, TOURS, ELITE = 64, 2_048, 256


@dataclass
class Trial:
    rate: float
    pool: object
    length: float = math.inf


def make_pool(device):
    return torch.cuda.MemPool() if device == "cuda" else None


def inside(pool):
    """What the device allocates in this context, it allocates in the pool."""
    return contextlib.nullcontext() if pool is None else torch.cuda.use_mem_pool(pool)


def tour_lengths(meadow, keys):
    """The length of each tour: its flowers in the order of their keys."""
    tours = keys.argsort(dim=1)  # grows
    stops = meadow[tours]  # grows
    return (stops - stops.roll(1, dims=1)).norm(dim=2).sum(dim=1)  # grows


def evolve(meadow, rate, generations):
    """The length of the best tour after these generations."""
    keys = torch.rand(TOURS, FLOWERS, device=meadow.device)  # grows
    for _ in range(generations):
        best = tour_lengths(meadow, keys).topk(ELITE, largest=False).indices
        mothers = keys[best].repeat(TOURS // ELITE, 1)  # grows
        strays = torch.rand_like(mothers) < rate  # grows
        keys = torch.where(strays, torch.rand_like(mothers), mothers)  # grows
        keys[:ELITE] = mothers[:ELITE]
        time.sleep(0.01)
    return tour_lengths(meadow, keys).min().item()


def run(trial, meadow, generations):
    with inside(trial.pool):
        trial.length = min(trial.length, evolve(meadow, trial.rate, generations))


@torch.no_grad()
def search(meadow, device, end):
    trials = []
    while time.time() < end:
        trial = Trial(math.exp(random.uniform(-6.0, -0.5)), make_pool(device))
        run(trial, meadow, random.randint(12, 24))
        trials.append(trial)  # keeps
        if len(trials) % 8 == 0:
            best = min(trials, key=lambda trial: trial.length)
            run(best, meadow, 40)
            print(f"{len(trials)} trials, best rate {best.rate:.4f}, length {best.length:.2f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    meadow = torch.rand(FLOWERS, 2, device=device)
    search(meadow, device, time.time() + float(os.environ.get("SECONDS", "45")))


if __name__ == "__main__":
    main()
