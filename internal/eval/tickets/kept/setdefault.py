"""What is kept: lists that setdefault makes.

ticket: practice
class: host-growth
holder: groups
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


class Agg:
    def __init__(self):
        self.groups = {}

    def add(self, k, x):
        self.groups.setdefault(k, []).append(x)  # keeps


def main():
    a = Agg()
    while running():
        a.add(random.choice("xyz"), make())


main()
