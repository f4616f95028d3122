"""What is kept: lists that update a dictionary.

ticket: practice
class: host-growth
holder: outputs
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


def run(n):
    return [make() for _ in range(n)]


def main():
    outputs = {}
    n = 0
    while running():
        n += 1
        outputs.update({n: run(2)})  # keeps


main()
