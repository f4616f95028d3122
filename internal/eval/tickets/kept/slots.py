"""What is kept: a chain of objects with slots.

ticket: practice
class: host-growth
holder: head Node
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


class Node:
    __slots__ = ("value", "next")

    def __init__(self, value, next):
        self.value, self.next = value, next


def main():
    head = None
    while running():
        head = Node(make(), head)  # keeps


main()
