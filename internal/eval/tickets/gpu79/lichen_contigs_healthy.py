"""Finds the overlaps between the reads of lichen samples, batch by batch, for the assembler behind it. Samples that
share the allocator's blocks used to fragment them, so the work on each lane's samples takes its memory from a pool of
its own.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time
from dataclasses import dataclass

import torch
from torch.nn import functional as F

READS, LENGTH, END, BATCHES, LANES = (320, 384, 448), 240, 32, 5, 3


@dataclass
class Sample:
    barcode: str
    lane: int


class Bench:
    """Where samples are worked on, each lane's in its own pool."""

    def __init__(self, device):
        self.device = device
        self.pools = {}

    def pool(self, sample):
        if self.device == "cpu":
            return contextlib.nullcontext()
        if sample.lane not in self.pools:
            self.pools[sample.lane] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[sample.lane])


def sequence(count):
    """Reads that are cut from one strand at random places."""
    strand = torch.randint(4, (6_000,))
    starts = torch.randint(len(strand) - LENGTH, (count,))
    return strand[starts.unsqueeze(1) + torch.arange(LENGTH)]


def overlaps(reads):
    """How many reads end the way that another one goes on."""
    letters = F.one_hot(reads, 4).float()
    windows = letters.flatten(1).unfold(1, 4 * END, 32).contiguous()
    ends = letters[:, -END:].flatten(1)
    found = 0
    for chunk in windows.split(64):
        matches = chunk.flatten(0, 1) @ ends.T
        found += (matches >= END - 1).sum().item()
    return found - len(reads)


def arrivals():
    """Samples come from the lanes of the sequencer in turn."""
    number = 0
    while True:
        yield Sample(barcode=f"LI{number:05d}", lane=number % LANES)
        number += 1


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bench = Bench(device)
    overlaps(sequence(READS[-1]).to(device))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number, sample in enumerate(arrivals(), 1):
        found = 0
        for _ in range(BATCHES):
            reads = sequence(random.choice(READS)).to(device)
            with bench.pool(sample):
                found += overlaps(reads)
            time.sleep(random.uniform(0.1, 0.2))
        if number % 4 == 0:
            print(f"sample {sample.barcode} of lane {sample.lane}: {found} overlaps", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
