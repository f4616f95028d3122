"""What is kept: a list in a generator that only a loop has.

ticket: practice
class: host-growth
holder: seen
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


def steadied(source):
    seen = []
    for x in source:
        seen.append(x)  # keeps
        yield sum(s[:64] for s in seen[-4:])


def paired(source):
    before = next(source)
    for x in source:
        yield before, x
        before = x


def main():
    for a, b in paired(steadied(load())):
        (a - b).sum()
        time.sleep(0.01)


main()
