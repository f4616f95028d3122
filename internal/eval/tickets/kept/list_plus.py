"""What is kept: a list that is put together anew.

ticket: practice
class: host-growth
holder: items
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


class H:
    def __init__(self):
        self.items = []

    def add(self, xs):
        self.items = self.items + xs  # keeps


def main():
    h = H()
    while running():
        h.add([make()])


main()
