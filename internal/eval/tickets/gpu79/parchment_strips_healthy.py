"""Reads the strips of an archive of parchment rolls: a strip is as wide as the scanner and as long as the roll. The
strips go to the device through page-locked buffers, which are slow to get and are therefore used again, and their
lines of writing are counted there.

ticket: practice
class: none
"""

import os
import random
import time
from collections import defaultdict

import numpy as np
import torch
from torch.nn import functional as F

WIDTH, SHORTEST, LONGEST = 64, 4_200, 32_000


class Staging:
    """Buffers of host memory that wait for their next strip."""

    def __init__(self, pinned):
        self.pinned = pinned
        self.free = defaultdict(list)

    def take(self, size):
        size = 1 << (size - 1).bit_length()
        if self.free[size]:
            return self.free[size].pop()
        return torch.empty(size, dtype=torch.uint8, pin_memory=self.pinned)

    def give(self, buffer):
        self.free[len(buffer)].append(buffer)


class Scanner:
    def __init__(self):
        self.grain = np.random.default_rng(3).integers(0, 60, LONGEST * WIDTH, dtype=np.uint8)

    def strip(self):
        """The grey values of a roll, row by row."""
        length = random.randint(SHORTEST, LONGEST)
        values = 190 + self.grain[: length * WIDTH]
        rows = values.reshape(length, WIDTH)
        spacing = random.choice((24, 32, 40))
        for line in range(8):
            rows[line::spacing] -= 120
        return values


def count_lines(strip):
    """How often the mean darkness of the rows crosses from parchment to ink."""
    rows = strip.view(-1, WIDTH).float().mean(dim=1)
    smooth = F.avg_pool1d(rows.view(1, 1, -1), 5, stride=1, padding=2).flatten()
    ink = smooth < smooth.mean()
    return (ink[1:] & ~ink[:-1]).sum()


def main():
    torch.set_num_threads(1)
    cuda = torch.cuda.is_available()
    device = "cuda" if cuda else "cpu"
    staging, scanner = Staging(pinned=cuda), Scanner()
    strips = lines = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        values = scanner.strip()
        buffer = staging.take(len(values))
        buffer[: len(values)].copy_(torch.from_numpy(values))
        strip = buffer[: len(values)].to(device, non_blocking=True)
        lines += count_lines(strip).item()
        staging.give(buffer)
        strips += 1
        if strips % 20 == 0:
            print(f"{strips} strips, {lines} lines of writing", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
