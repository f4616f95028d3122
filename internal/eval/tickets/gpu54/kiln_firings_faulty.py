"""A pottery orders simulations of its kiln: how evenly is the clay heated at each place of the chamber? Each firing is
computed in a memory pool of its own, so that firings of different sizes do not break up each other's blocks.

ticket: practice
class: pool-growth
holder: pools Kiln MemPool
cause: pool-never-trims cache-without-bound
"""

import contextlib
import itertools
import os
import random
import time
from dataclasses import dataclass, field

import torch

GRIDS = 72, 80, 88
STEPS, SPREAD = 60, 0.12
numbers = itertools.count(1)


@dataclass
class Firing:
    grid: int = field(default_factory=lambda: random.choice(GRIDS))
    heat: float = field(default_factory=lambda: random.uniform(900.0, 1300.0))
    number: int = field(default_factory=lambda: next(numbers))


def make_pool():
    """A pool of device memory, or None where there is no device."""
    return torch.cuda.MemPool() if torch.cuda.is_available() else None


def inside(pool):
    return torch.cuda.use_mem_pool(pool) if pool else contextlib.nullcontext()


class Kiln:
    def __init__(self, device):
        self.device, self.pools = device, {}

    def pool(self, firing):
        key = firing.number
        if key not in self.pools:
            self.pools[key] = make_pool()  # keeps
        return self.pools[key]

    def start(self, firing):
        """A hot chamber with cold clay in the middle and burners at two walls."""
        chamber = torch.full((firing.grid,) * 3, firing.heat, device=self.device)  # grows
        takes = torch.full_like(chamber, SPREAD)  # grows
        third = firing.grid // 3
        clay = slice(third, -third), slice(third, -third), slice(third, -third)
        chamber[clay], takes[clay] = 20.0, SPREAD / 3
        return chamber, takes

    def step(self, firing, chamber, takes):
        """Heat spreads between the six neighbours."""
        around = torch.zeros_like(chamber)  # grows
        for axis in range(3):
            around += chamber.roll(1, axis)  # grows
            around += chamber.roll(-1, axis)  # grows
        chamber += takes * (around - 6 * chamber)  # grows
        chamber[0], chamber[-1] = firing.heat, firing.heat

    @torch.no_grad()
    def fire(self, firing):
        """The mean heat of the clay, and how much it differs."""
        with inside(self.pool(firing)):
            chamber, takes = self.start(firing)
            for _ in range(STEPS):
                self.step(firing, chamber, takes)
            third = firing.grid // 3
            clay = chamber[third:-third, third:-third, third:-third]
            return clay.mean().item(), (clay.max() - clay.min()).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kiln = Kiln(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        firing = Firing()
        mean, differs = kiln.fire(firing)
        if firing.number % 5 == 0:
            print(f"firing {firing.number}: clay at {mean:.1f} degrees, differs by {differs:.1f}", flush=True)
        time.sleep(random.uniform(0.5, 1.1))


if __name__ == "__main__":
    main()
