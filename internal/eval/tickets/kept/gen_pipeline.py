"""What is kept: a list in a generator of a pipeline.

ticket: practice
class: host-growth
holder: pending
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


def load():
    while running():
        yield make()


def batched(source, size):
    pending = []
    for x in source:
        pending.append(x)  # keeps
        if len(pending) % size == 0:
            yield torch.stack([p[:64] for p in pending[-size:]])


def main():
    for batch in batched(load(), 4):
        batch.sum()


main()
