"""What is kept: lists in a list that a loop goes through.

ticket: practice
class: host-growth
holder: columns
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
    columns = [[] for _ in range(4)]
    while running():
        for column in columns:
            column.append(make())  # keeps


main()
