"""What is kept: a list of a member of an enumeration.

ticket: practice
class: host-growth
holder: outputs
cause: -
"""

import enum
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


class Stage(enum.Enum):
    TRAIN = 1
    TEST = 2


Stage.TRAIN.outputs = []


def main():
    while running():
        Stage.TRAIN.outputs.append(make())  # keeps


main()
