"""What is kept: pairs in a list that is put together anew.

ticket: practice
class: host-growth
holder: pairs
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
    pairs = []
    while running():
        batch = [make(), make()]
        pairs = [*pairs, *zip(batch, range(2))]  # keeps


main()
