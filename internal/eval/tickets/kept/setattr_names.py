"""What is kept: attributes that are set by their names.

ticket: practice
class: host-growth
holder: store
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


class Store:
    pass


def main():
    store, n = Store(), 0
    while running():
        n += 1
        setattr(store, f"x{n}", make())  # keeps


main()
