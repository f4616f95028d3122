"""What is kept: lists in a default dictionary of a dataclass.

ticket: practice
class: host-growth
holder: curves
cause: -
"""

import collections
import dataclasses
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


@dataclasses.dataclass
class Run:
    name: str
    curves: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))

    def log(self, key, value):
        self.curves[key].append(value)  # keeps


def main():
    run = Run("a")
    while running():
        run.log("val", make())


main()
