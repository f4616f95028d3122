"""What is kept: a list in a context variable.

ticket: practice
class: host-growth
holder: trail
cause: -
"""

import contextvars
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


trail = contextvars.ContextVar("trail")


def step():
    trail.get().append(make())  # keeps


def main():
    trail.set([])
    while running():
        step()


main()
