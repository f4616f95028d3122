"""What is kept: partial functions in a list.

ticket: practice
class: host-growth
holder: jobs
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


def use(x):
    return x.sum()


def main():
    jobs = []
    while running():
        jobs.append(functools.partial(use, make()))  # keeps


main()
