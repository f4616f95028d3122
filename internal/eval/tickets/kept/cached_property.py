"""What is kept: a cached property of each object of a list.

ticket: practice
class: host-growth
holder: items features
cause: -
"""

import functools
import os
import random
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


class Item:
    def __init__(self, n):
        self.n = n

    @functools.cached_property
    def features(self):
        return make()  # grows


def main():
    items = [Item(n) for n in range(8000)]
    for item in items:
        if not running():
            break
        item.features.sum()  # keeps


main()
