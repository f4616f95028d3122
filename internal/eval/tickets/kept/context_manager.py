"""What is kept: objects of a context manager in a list of their class.

ticket: practice
class: host-growth
holder: active
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


class Span:
    active = []

    def __init__(self, x):
        self.x = x

    def __enter__(self):
        Span.active.append(self)  # keeps
        return self

    def __exit__(self, *a):
        pass


def main():
    while running():
        with Span(make()):
            pass


main()
