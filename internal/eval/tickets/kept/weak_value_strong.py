"""What is kept: objects in a list beside a weak set.

ticket: practice
class: host-growth
holder: order
cause: -
"""

import os
import random
import time
import weakref

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))  # grows


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


class Thing:
    def __init__(self):
        self.x = make()


live = weakref.WeakSet()
order = []


def main():
    while running():
        t = Thing()
        live.add(t)
        order.insert(0, t)  # keeps


main()
