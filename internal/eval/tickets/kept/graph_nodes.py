"""What is kept: a tree of nodes.

ticket: practice
class: host-growth
holder: root children
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
    def __init__(self, state, parent=None):
        self.state, self.parent, self.children = state, parent, []


def main():
    root = Node(make())
    node = root
    while running():
        child = Node(make(), node)
        node.children.append(child)  # keeps
        node = random.choice((root, child))


main()
