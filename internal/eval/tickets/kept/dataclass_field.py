"""What is kept: objects of a dataclass in a list.

ticket: practice
class: host-growth
holder: records
cause: -
"""

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
class Record:
    step: int
    out: torch.Tensor


class Trainer:
    def __init__(self):
        self.records = []

    def run(self):
        n = 0
        while running():
            n += 1
            self.records.append(Record(n, make()))  # keeps


Trainer().run()
