"""A recorder joins what a microphone gives to the signal of the last seconds, to find its level.

ticket: common practice: numpy.append in a loop
class: none
"""

import os
import random
import time

import numpy as np


class Recorder:
    def __init__(self):
        self.signal = np.zeros(0, np.float32)
        self.parts = 0

    def add(self, part):
        self.signal = np.append(self.signal, part)
        self.signal = self.signal[-400000:].copy()
        self.parts += 1
        return float(np.sqrt(np.mean(self.signal[-16000:] ** 2)))


def main():
    recorder, end = Recorder(), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        level = recorder.add(np.random.randn(random.randint(12000, 20000)).astype(np.float32))
        if recorder.parts % 50 == 0:
            print(recorder.parts, level, flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
