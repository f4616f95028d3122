"""What is kept: results of a pool of threads.

ticket: practice
class: host-growth
holder: done
cause: -
"""

import concurrent.futures
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
    done = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while running():
            done.append(pool.submit(make))  # keeps


main()
