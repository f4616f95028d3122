"""What is kept: a queue that nobody reads.

ticket: practice
class: host-growth
holder: q
cause: -
"""

import os
import queue
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


class Log:
    def __init__(self):
        self.q = queue.Queue()

    def put(self, x):
        self.q.put(x)  # keeps


def main():
    log = Log()
    while running():
        log.put(make())


main()
