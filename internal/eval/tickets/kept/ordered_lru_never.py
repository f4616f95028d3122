"""What is kept: an ordered dictionary whose bound is never reached.

ticket: practice
class: host-growth
holder: items
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


class LRU:
    def __init__(self, most):
        self.most, self.items = most, collections.OrderedDict()

    def get(self, key):
        if key not in self.items:
            self.items[key] = make()  # keeps
        self.items.move_to_end(key)
        return self.items[key]


def main():
    lru, n = LRU(100000), 0
    while running():
        n += 1
        lru.get((n, "tile"))


main()
