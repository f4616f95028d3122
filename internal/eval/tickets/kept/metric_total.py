"""What is kept: a list that += extends.

ticket: practice
class: host-growth
holder: parts
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


class Metric:
    def __init__(self):
        self.total, self.parts = 0.0, []

    def update(self, x):
        self.total += float(x.sum())
        self.parts += [x]  # keeps


class Loop:
    def __init__(self):
        self.metrics = {"loss": Metric(), "acc": Metric()}

    def run(self):
        while running():
            self.metrics["loss"].update(make())


Loop().run()
