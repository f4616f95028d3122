"""What is kept: the branch of a tee that nobody reads.

ticket: practice
class: host-growth
holder: second
cause: -
"""

import itertools
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


def source():
    while True:
        yield make()


class Course:
    def __init__(self):
        self.first, self.second = itertools.tee(source())

    def step(self):
        return next(self.first)  # keeps


def main():
    c = Course()
    while running():
        c.step()


main()
