"""A set of recordings of sound gives spectra by number, and remembers all it gave.

ticket: MoonshotAI/Kimi-Audio#117
class: host-growth
holder: lru_cache __getitem__ cache
cause: cache-without-bound method-cached lru-cache-on-method
"""

import functools
import os
import random
import time

import numpy as np


class Spectra:
    def __init__(self, count, rate=8000):
        self.count, self.rate = count, rate
        self.window = np.hanning(256).astype(np.float32)

    def __len__(self):
        return self.count

    @functools.lru_cache(maxsize=None)
    def __getitem__(self, number):  # keeps
        if not 0 <= number < self.count:
            raise IndexError(number)
        wave = self.wave(number)
        frames = np.lib.stride_tricks.sliding_window_view(wave, 256)[::128] * self.window
        return {"number": number, "spectrum": np.abs(np.fft.rfft(frames)).astype(np.float32)}  # grows

    def wave(self, number):
        draw = np.random.default_rng(number)
        time_ = np.arange(self.rate * int(draw.integers(1, 4))) / self.rate
        tone = np.sin(2 * np.pi * draw.uniform(100, 900) * time_)
        return (tone + 0.1 * draw.standard_normal(len(time_))).astype(np.float32)


def main():
    data, end, step = Spectra(100000), time.time() + float(os.environ.get("SECONDS", "45")), 0
    mean = 0.0
    while time.time() < end:
        batch = [data[random.randrange(len(data))] for _ in range(random.randint(2, 6))]
        mean = 0.9 * mean + 0.1 * float(np.mean([item["spectrum"].mean() for item in batch]))
        step += 1
        if step % 40 == 0:
            print("step %d mean %.4f" % (step, mean), flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
