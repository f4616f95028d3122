"""What is kept: closures in a list.

ticket: practice
class: host-growth
holder: undo_stack
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


class Document:
    def __init__(self):
        self.undo_stack = []
        self.page = make()

    def edit(self):
        before = self.page.clone()
        self.page = make()
        self.undo_stack.append(lambda: setattr(self, "page", before))  # keeps


def main():
    d = Document()
    while running():
        d.edit()


main()
