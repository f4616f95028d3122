"""What is kept: NumPy's arrays in a list.

ticket: practice
class: host-growth
holder: frames
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


class Recorder:
    def __init__(self):
        self.frames = []

    def record(self, frame):
        self.frames.append(frame)  # keeps


def main():
    r = Recorder()
    while running():
        r.record(np.random.rand(12000))


main()
