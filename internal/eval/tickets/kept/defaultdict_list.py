"""What is kept: lists in a default dictionary.

ticket: practice
class: host-growth
holder: by_kind
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


class Tracker:
    def __init__(self):
        self.by_kind = collections.defaultdict(list)

    def add(self, kind, x):
        self.by_kind[kind].append(x)  # keeps


def main():
    t = Tracker()
    while running():
        t.add(random.choice("abcd"), make())


main()
