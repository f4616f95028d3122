"""What is kept: a dictionary of a class.

ticket: practice
class: host-growth
holder: seen
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


class Meter:
    seen = {}

    @classmethod
    def note(cls, n, x):
        cls.seen[n] = x  # keeps


def main():
    n = 0
    while running():
        n += 1
        Meter.note(n, make())


main()
