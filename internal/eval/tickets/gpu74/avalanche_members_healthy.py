"""An ensemble of snow covers tells how likely an avalanche is: each member starts from another snow cover, is run for
a night with its own wind, and the depth on the slope is noted. The members run in a memory pool of their own, so that
they do not cut up the blocks of others. Finished members stay in the ensemble with their depth, for the quantiles.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time

import torch

LAYERS, ROWS, COLUMNS = 8, 256, 512
HOURS, CRITICAL = 12, 1.15


def new_pool(device):
    return torch.cuda.MemPool() if device == "cuda" else None


class Member:
    """One snow cover: the wind that it sees, the pool, and, when it has run, the depth on the slope."""

    def __init__(self, number, device, pool):
        self.number, self.device = number, device
        self.wind = random.uniform(0.5, 1.5)
        self.pool = pool
        self.depth = None

    def memory(self):
        return torch.cuda.use_mem_pool(self.pool) if self.pool is not None else contextlib.nullcontext()

    @torch.no_grad()
    def run(self):
        with self.memory():
            snow = 1 + 0.1 * torch.randn(LAYERS, ROWS, COLUMNS, device=self.device)
            for _ in range(HOURS):
                snow = self.hour(snow)
            self.depth = snow.sum(0)[:, COLUMNS // 4 : COLUMNS // 2].mean().item() / LAYERS

    def hour(self, snow):
        """Snow settles, creeps down the slope, and is carried by the wind."""
        creep = torch.roll(snow, 1, 1) - snow
        drift = torch.roll(snow, 1, 2) - torch.roll(snow, -1, 2)
        snow = snow + 0.05 * creep - 0.02 * self.wind * drift
        fresh = 0.004 * self.wind * torch.rand_like(snow[0])
        snow[0] += fresh
        return snow * (1 - 0.001 * random.random())


class Ensemble:
    def __init__(self, device):
        self.device, self.members = device, []
        self.pool = new_pool(device)

    def add(self):
        member = Member(len(self.members), self.device, self.pool)
        member.run()
        self.members.append(member)

    def quantile(self, share):
        depths = sorted(member.depth for member in self.members)
        return depths[min(int(share * len(depths)), len(depths) - 1)]

    def danger(self):
        return sum(member.depth * member.wind > CRITICAL for member in self.members) / len(self.members)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ensemble = Ensemble(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        ensemble.add()
        count = len(ensemble.members)
        if count % 4 == 0:
            low, high = ensemble.quantile(0.1), ensemble.quantile(0.9)
            print(f"{count} members: depth {low:.4f} to {high:.4f}, danger {ensemble.danger():.2f}", flush=True)
        time.sleep(random.uniform(0.8, 1.4))


if __name__ == "__main__":
    main()
