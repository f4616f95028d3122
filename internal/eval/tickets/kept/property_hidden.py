"""What is kept: a list with a private name.

ticket: practice
class: host-growth
holder: history
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


class Engine:
    def __init__(self):
        self.__history = []

    def step(self):
        y = make()
        self.__history.append(y)  # keeps
        return y


def main():
    e = Engine()
    while running():
        e.step()


main()
