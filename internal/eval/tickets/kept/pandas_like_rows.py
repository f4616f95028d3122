"""What is kept: dictionaries in a dictionary.

ticket: practice
class: host-growth
holder: rows
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


class Table:
    def __init__(self):
        self.rows = {}

    def insert(self, key, **columns):
        self.rows[key] = columns  # keeps


def main():
    t, n = Table(), 0
    while running():
        for _ in range(150):
            n += 1
            t.insert(n, a=random.random(), b=[random.random()] * 20, c=str(n))


main()
