"""Recorders in a wood send what they hear at night, and each recording is as long as the bats were about. It is put
into page-locked memory, copied to the device and cut into frames there. The energy of each frame in the bats' bands
says how many passes there were.

ticket: cupy/cupy#8111
class: host-growth
holder: pinned PinnedMemoryPool pool
cause: pinned-staging size-class-misses pool-never-trims
"""

import os
import random
import time

import cupy as cp
import cupyx
import numpy as np

FRAME, BANDS = 1024, 64
SHORTEST, LONGEST = 250, 2_000


class Recorder:
    """Noise, and calls that sweep downwards; the number of frames is never known before."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        sweep = np.linspace(0.45, 0.15, 2 * FRAME).cumsum()
        self.call = np.sin(2 * np.pi * sweep).astype(np.float32)

    def recording(self):
        frames = int(self.random.integers(SHORTEST, LONGEST))
        samples = self.random.standard_normal(frames * FRAME, dtype=np.float32)
        for _ in range(int(self.random.integers(2, 12))):
            start = int(self.random.integers(0, samples.size - self.call.size))
            samples[start : start + self.call.size] += 4 * self.call
        return samples


class Counter:
    def __init__(self):
        times = np.arange(FRAME)[:, None]
        bands = np.linspace(0.15, 0.45, BANDS)[None]
        self.cosines = cp.asarray(np.cos(2 * np.pi * bands * times), dtype=cp.float32)
        self.sines = cp.asarray(np.sin(2 * np.pi * bands * times), dtype=cp.float32)
        self.waves = cp.empty(LONGEST * FRAME, cp.float32)

    def upload(self, samples):
        staging = cupyx.empty_pinned(samples.size, np.float32)  # grows keeps
        staging[:] = samples
        waves = self.waves[: samples.size]
        waves.set(staging)
        cp.cuda.get_current_stream().synchronize()
        return waves

    def passes(self, samples):
        frames = self.upload(samples).reshape(-1, FRAME)
        energy = (frames @ self.cosines) ** 2 + (frames @ self.sines) ** 2
        loud = energy.max(axis=1) > 12 * energy.mean()
        begins = loud[1:] & ~loud[:-1]
        return int(begins.sum())


def main():
    recorders = [Recorder(seed) for seed in range(3)]
    counter, received, total = Counter(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        total += counter.passes(random.choice(recorders).recording())
        received += 1
        if received % 20 == 0:
            print(f"{received} recordings, {total} passes", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
