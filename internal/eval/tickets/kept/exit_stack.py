"""What is kept: callbacks of an exit stack.

ticket: practice
class: host-growth
holder: stack callbacks
cause: -
"""

import contextlib
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
    with contextlib.ExitStack() as stack:
        while running():
            x = make()
            stack.callback(lambda x=x: x.zero_())  # keeps


main()
