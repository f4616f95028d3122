"""What is kept: a heap.

ticket: practice
class: host-growth
holder: best
cause: -
"""

import heapq
import os
import random
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))  # grows


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


def main():
    best, n = [], 0
    while running():
        n += 1
        heapq.heappush(best, (random.random(), n, make()))  # keeps


main()
