"""What is kept: elements of an array of objects.

ticket: practice
class: host-growth
holder: table
cause: -
"""

import os
import random
import time

import numpy as np
import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))  # grows


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


def main():
    table, n = np.empty(100000, dtype=object), 0
    while running():
        table[n] = make()  # keeps
        n += 1


main()
