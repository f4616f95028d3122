"""What is kept: a dictionary in dictionaries with constant keys.

ticket: practice
class: host-growth
holder: state
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


def main():
    state = {"runs": {"now": {}}}
    n = 0
    while running():
        n += 1
        state["runs"]["now"][n] = make()  # keeps


main()
