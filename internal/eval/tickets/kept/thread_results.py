"""What is kept: results of threads in a dictionary of a module.

ticket: practice
class: host-growth
holder: results
cause: -
"""

import os
import random
import threading
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))  # grows


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


results = {}


def worker(n):
    results[n] = make()  # keeps


def main():
    n = 0
    while running():
        n += 1
        t = threading.Thread(target=worker, args=(n,))
        t.start(); t.join()


main()
