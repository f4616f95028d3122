"""What is kept: a list in a generator that is sent to.

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


def window():
    seen = []
    while True:
        x = yield len(seen)
        seen.append(x)  # keeps


def main():
    w = window()
    next(w)
    while running():
        w.send(make())


main()
