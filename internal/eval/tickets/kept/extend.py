"""What is kept: batches that extend a list.

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


class Eval:
    def __init__(self):
        self.outputs = []

    def step(self, batch):
        self.outputs.extend(batch)  # keeps


def main():
    e = Eval()
    while running():
        e.step([make() for _ in range(2)])


main()
