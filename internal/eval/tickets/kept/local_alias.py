"""What is kept: a list that a variable stands for.

ticket: practice
class: host-growth
holder: state sink
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


class State:
    def __init__(self):
        self.log = {"outputs": []}


def main():
    state = State()
    sink = state.log["outputs"]
    while running():
        sink.append(make())  # keeps


main()
