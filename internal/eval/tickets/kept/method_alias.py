"""What is kept: a list whose method a variable is.

ticket: practice
class: host-growth
holder: kept
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


def main():
    kept = []
    add = kept.append
    while running():
        add(make())  # keeps


main()
