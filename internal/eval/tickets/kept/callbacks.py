"""What is kept: methods of objects that subscribe.

ticket: practice
class: host-growth
holder: listeners
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


class Bus:
    def __init__(self):
        self.listeners = []

    def subscribe(self, f):
        self.listeners.append(f)  # keeps


class View:
    def __init__(self, bus):
        self.data = make()
        bus.subscribe(self.on_event)

    def on_event(self):
        pass


def main():
    bus = Bus()
    while running():
        View(bus)


main()
