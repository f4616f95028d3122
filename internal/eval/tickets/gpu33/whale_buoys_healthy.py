"""A monitor of buoys that listen for whales. A buoy comes up, sends its recording in pieces, and dives again. The GPU
turns each piece into a spectrogram, which goes to the host; at the end of the watch the loudest moment of all of them
is noted. If the monitor is stopped in the middle of a watch, the watch is still noted.

ticket: practice
class: none
"""

import atexit
import os
import random
import time
from collections import deque

import cupy as cp
import numpy as np

FRAME, HOP, FRAMES = 1024, 256, 400
WINDOW = cp.hanning(FRAME).astype(cp.float32)


class Watch:
    """What one buoy has sent since it came up."""

    def __init__(self, buoy, book):
        self.buoy, self.book = buoy, book
        self.pictures, self.noted = [], False
        atexit.register(self.note)

    def hear(self, sound):
        starts = HOP * cp.arange(FRAMES)[:, None]
        frames = sound[starts + cp.arange(FRAME)] * WINDOW
        spectrum = cp.abs(cp.fft.rfft(frames, axis=1)).astype(cp.float32)
        self.pictures.append(cp.asnumpy(cp.log1p(spectrum)))

    def note(self):
        if self.noted or not self.pictures:
            return
        loudness = np.concatenate([picture.mean(axis=1) for picture in self.pictures])
        self.book.append((self.buoy, int(loudness.argmax()), float(loudness.max())))
        self.noted = True

    def dive(self):
        self.note()
        atexit.unregister(self.note)


def sound(rng):
    """A piece of recording: the sea, and now and then a whale."""
    samples = HOP * FRAMES + FRAME
    noise = rng.standard_normal(samples).astype(cp.float32)
    if random.random() < 0.2:
        noise += 3 * cp.sin(cp.arange(samples, dtype=cp.float32) * random.uniform(0.02, 0.2))
    return noise


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng, book, watches = cp.random.RandomState(3), deque(maxlen=200), 0
    while time.time() < end:
        watch = Watch(random.randrange(30), book)
        for _ in range(random.randint(3, 7)):
            watch.hear(sound(rng))
            time.sleep(random.uniform(0.03, 0.12))
        watch.dive()
        watches += 1
        if watches % 10 == 0:
            buoy, moment, loudness = book[-1]
            print(f"{watches} watches, buoy {buoy} was loudest at {moment} ({loudness:.2f})", flush=True)
        time.sleep(random.uniform(0.02, 0.1))


if __name__ == "__main__":
    main()
