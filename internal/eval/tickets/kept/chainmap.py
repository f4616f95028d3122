"""What is kept: a chain of maps.

ticket: practice
class: host-growth
holder: scopes
cause: -
"""

import collections
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
    scopes = collections.ChainMap()
    while running():
        scopes = scopes.new_child({"x": make()})  # keeps


main()
