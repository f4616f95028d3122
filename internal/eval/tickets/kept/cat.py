"""What is kept: one tensor that gets longer.

ticket: practice
class: host-growth
holder: all
cause: -
"""

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


class Buffer:
    def __init__(self):
        self.all = torch.zeros(0)

    def add(self, x):
        self.all = torch.cat([self.all, x])  # keeps


def main():
    b = Buffer()
    while running():
        b.add(make())


main()
