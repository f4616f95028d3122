"""What is kept: one array of NumPy's that gets longer.

ticket: practice
class: host-growth
holder: values
cause: -
"""

import os
import random
import time

import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


class Curve:
    def __init__(self):
        self.values = np.zeros(0)

    def add(self, x):
        self.values = np.append(self.values, x)  # keeps


def main():
    c = Curve()
    while running():
        c.add(np.random.rand(9000))


main()
