"""Traces of a seismic survey go to the device through one pinned buffer, which is as large as the largest shot.

ticket: cupy/cupy#8111
class: none
"""

import os
import random
import time

import cupy as cp
import cupyx
import numpy as np

SAMPLES, SMALLEST, LARGEST = 1000, 60, 2000


class Uploader:
    def __init__(self):
        self.stream, self.shots = cp.cuda.Stream(non_blocking=True), 0
        self.device = cp.zeros((LARGEST, SAMPLES), cp.float32)
        self.buffer = cupyx.empty_pinned((LARGEST, SAMPLES), dtype=np.float32)
        self.buffer[:] = 0

    def upload(self, traces):
        pinned = self.buffer[:len(traces)]
        pinned[:] = traces
        on_device = self.device[:len(traces)]
        with self.stream:
            on_device.set(pinned, stream=self.stream)
        self.stream.synchronize()
        self.shots += 1
        return on_device


def shots(end):
    """The survey: each shot is heard by some more receivers than the one before."""
    rng, receivers = np.random.default_rng(5), SMALLEST
    noise = rng.normal(size=(LARGEST, SAMPLES)).astype(np.float32)
    while time.time() < end:
        receivers = min(LARGEST, receivers + random.randint(6, 26))
        yield noise[:receivers]
        time.sleep(random.uniform(0.1, 0.6))


def envelope(traces):
    spectrum = cp.fft.rfft(traces[:SMALLEST], axis=1)
    return float(cp.abs(spectrum).mean())


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    uploader, levels = Uploader(), []
    stack = cp.zeros(SAMPLES, cp.float32)
    for traces in shots(end):
        on_device = uploader.upload(traces)
        stack += on_device.mean(axis=0)
        levels = (levels + [envelope(on_device)])[-50:]
        if uploader.shots % 25 == 0:
            print(uploader.shots, "shots,", len(traces), "traces", round(sum(levels) / len(levels), 2), flush=True)
    print("stacked", float(cp.abs(stack).max()))


if __name__ == "__main__":
    main()
