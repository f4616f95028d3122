"""What is kept: a list of a closure.

ticket: practice
class: host-growth
holder: kept record
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


def recorder():
    kept = []

    def record(x):
        kept.append(x)  # keeps
        return len(kept)
    return record


def main():
    record = recorder()
    while running():
        record(make())


main()
