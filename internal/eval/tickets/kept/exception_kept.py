"""What is kept: exceptions with their frames.

ticket: practice
class: host-growth
holder: errors
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


errors = []


def work():
    x = make()
    raise ValueError("bad")


def main():
    while running():
        try:
            work()
        except ValueError as e:
            errors.append(e)  # keeps


main()
