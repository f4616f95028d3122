"""Estimates the strength of each blast in three quarries from what eight stations around them record. The arrays of a
blast are taken from a memory pool of their own, so that the blasts do not cut up one another's memory.

ticket: practice
class: pool-growth
holder: pools MemPool Pools
cause: pool-never-trims cache-without-bound
"""

import os
import random
import time
from contextlib import nullcontext

import torch
from torch import nn

STATIONS, CHANNELS = 8, 16
LENGTHS = 4096, 6144, 8192
QUARRIES = "granite", "slate", "marl"


class Blast:
    def __init__(self, number):
        self.quarry = QUARRIES[number % len(QUARRIES)]
        self.name = f"{self.quarry}-{number}"
        self.lengths = [random.choice(LENGTHS) for _ in range(random.randint(4, 6))] + [max(LENGTHS)]


class Pools:
    """Memory pools by name; without a GPU there are none."""

    def __init__(self, device):
        self.device, self.pools = device, {}

    def use(self, name):
        if self.device != "cuda":
            return nullcontext()
        if name not in self.pools:
            self.pools[name] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[name])


class Seismograph(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, CHANNELS, 9, padding=4),
            nn.ReLU(),
            nn.Conv1d(CHANNELS, CHANNELS, 9, padding=4),
            nn.ReLU(),
            nn.Conv1d(CHANNELS, CHANNELS, 5, padding=2),
        )
        self.strength = nn.Linear(CHANNELS, 1)

    def forward(self, waves):
        hidden = self.layers(waves[:, None])  # grows
        return self.strength(hidden.abs().mean(dim=-1)).mean()


def record(length):
    """What the stations hear: the blast comes later to those that are farther away."""
    ticks = torch.arange(length)
    starts = torch.randint(length // 2, (STATIONS, 1))
    envelope = torch.exp(-(ticks - starts).clamp(min=0) / 400.0) * (ticks >= starts)
    return envelope * torch.randn(STATIONS, length)


@torch.inference_mode()
def estimate(model, blast, device):
    strengths = []
    for length in blast.lengths:
        waves = record(length).to(device)  # grows
        strengths.append(model(waves).item())
        time.sleep(random.uniform(0.1, 0.25))
    return sum(strengths) / len(strengths)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, pools, number = Seismograph().to(device).eval(), Pools(device), 0
    strongest = float("-inf")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        blast = Blast(number)
        with pools.use(blast.name):
            strength = estimate(model, blast, device)
        strongest = max(strongest, strength)
        number += 1
        if number % 3 == 0:
            print(f"{blast.name}: {strength:.4f}, the strongest so far {strongest:.4f}", flush=True)


if __name__ == "__main__":
    main()
