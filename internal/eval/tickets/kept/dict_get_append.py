"""What is kept: lists that get returns and that are put back.

ticket: practice
class: host-growth
holder: episodes rows
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
    episodes = {}
    n = 0
    while running():
        n += 1
        rows = episodes.get(n % 7) or []
        rows.append(make())  # keeps
        episodes[n % 7] = rows


main()
