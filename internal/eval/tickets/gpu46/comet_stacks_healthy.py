"""Exposures of a faint comet are shifted along its path and stacked. Nights are worked on by two threads, and each
thread has its own stream, so that one night is copied while the other is stacked. Before the summary the program waits
for both streams.

ticket: practice
class: none
"""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import cupy as cp
import numpy as np

EXPOSURES, SIDE = 8, 320


class Observatory:
    def __init__(self):
        self.threads = ThreadPoolExecutor(max_workers=2)
        self.streams = []
        self.local = threading.local()

    def stream(self):
        if not hasattr(self.local, "stream"):
            self.local.stream = cp.cuda.Stream(non_blocking=True)
            self.streams.append(self.local.stream)
        return self.local.stream

    def stack(self, exposures, speed):
        """The stacked picture of one night, and how far its brightest point stands out."""
        stream = self.stream()
        with stream:
            frames = cp.asarray(exposures)
            frames = frames - frames.mean(axis=(1, 2), keepdims=True)
            for number in range(EXPOSURES):
                frames[number] = cp.roll(frames[number], -speed * number, axis=1)
            spread = frames.std(axis=0)
            picture = cp.clip(frames, -3, 3).mean(axis=0)
            contrast = picture.max() / spread.mean()
            return cp.asnumpy(picture, stream=stream), float(contrast)

    def submit(self, night):
        return self.threads.submit(self.stack, *night)

    def wait(self):
        for stream in self.streams:
            stream.synchronize()

    def close(self):
        self.threads.shutdown()
        self.wait()


def night(generator):
    """Exposures of the sky with a comet that moves by some points from one to the next."""
    speed = random.randint(1, 6)
    exposures = generator.standard_normal((EXPOSURES, SIDE, SIDE), dtype=np.float32)
    row, column = generator.integers(40, SIDE - 60, 2)
    for number in range(EXPOSURES):
        exposures[number, row, (column + speed * number) % SIDE] += 2.0
    return exposures, speed


def main():
    generator, observatory = np.random.default_rng(46), Observatory()
    nights, faintest = 0, float("inf")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pair = [observatory.submit(night(generator)) for _ in range(2)]
        for future in pair:
            picture, contrast = future.result()
            faintest = min(faintest, contrast)
            nights += 1
        if nights % 20 == 0:
            observatory.wait()
            print(nights, "nights, brightest point", round(float(picture.max()), 3), "faintest contrast",
                  round(faintest, 3), flush=True)
        time.sleep(random.uniform(0.5, 0.9))
    observatory.close()


if __name__ == "__main__":
    main()
