"""What is kept: a cache of a method without a bound.

ticket: practice
class: host-growth
holder: embed
cause: -
"""

import functools
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


class Model:
    @functools.lru_cache(maxsize=None)
    def embed(self, n):
        return make()


def main():
    model, n = Model(), 0
    while running():
        n += 1
        model.embed(n)  # keeps


main()
