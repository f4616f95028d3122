"""What is kept: the default of a parameter.

ticket: practice
class: host-growth
holder: into
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


def collect(x, into=[]):
    into.append(x)  # keeps
    return len(into)


def main():
    while running():
        collect(make())


main()
