"""What is kept: tuples in a set.

ticket: practice
class: host-growth
holder: visited
cause: -
"""

import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


def main():
    visited = set()
    n = 0
    while running():
        for _ in range(400):
            n += 1
            visited.add((n, random.random(), str(n)))  # keeps


main()
