"""What is kept: a dictionary of a module that a decorator fills.

ticket: practice
class: host-growth
holder: registry
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


registry = {}


def register(name):

    def wrap(x):
        registry[name] = x  # keeps
        return x
    return wrap


def main():
    n = 0
    while running():
        n += 1
        register(n)(make())


main()
