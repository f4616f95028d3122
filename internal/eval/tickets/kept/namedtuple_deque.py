"""What is kept: named tuples in a deque without a bound.

ticket: practice
class: host-growth
holder: memory
cause: -
"""

import collections
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


Transition = collections.namedtuple("Transition", "obs action reward")


class Replay:
    def __init__(self):
        self.memory = collections.deque()

    def push(self, *a):
        self.memory.append(Transition(*a))  # keeps


def main():
    r = Replay()
    while running():
        r.push(make(), 1, 0.5)


main()
