"""What is kept: a dictionary of collections that is written in Python.

ticket: practice
class: host-growth
holder: cache
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


class Cache(collections.UserDict):
    pass


def main():
    cache, n = Cache(), 0
    while running():
        n += 1
        cache[n] = make()  # keeps


main()
