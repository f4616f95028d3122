"""What is kept: sets of bound methods in a dictionary.

ticket: practice
class: host-growth
holder: _slots
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


class Signal:
    def __init__(self):
        self._slots = {}

    def connect(self, name, slot):
        self._slots.setdefault(name, set()).add(slot)  # keeps


class Panel:
    def __init__(self, signal):
        self.picture = make()
        signal.connect("changed", self.redraw)

    def redraw(self):
        return self.picture


def main():
    signal = Signal()
    while running():
        Panel(signal)


main()
