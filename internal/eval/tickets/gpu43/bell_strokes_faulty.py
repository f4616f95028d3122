"""Recordings of church bells are searched for strokes. They are taken in the order of their lengths, the short ones
first, so that there is something to see soon. Each recording is cut into frames on the GPU, the loudness of the frames
in each band is computed, and only the times of the strokes come back.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks pool-never-trims size-class-misses
"""

import os
import time

import numpy as np

try:
    import cupy as xp

    xp.cuda.runtime.getDeviceCount()
except Exception:
    xp = np

FRAME, HOP, BANDS = 512, 256, 48
RATE = 16_000
RECORDINGS = 2000
SHORTEST, LONGEST = 16, 42


def bands():
    """What turns a frame into the loudness of its bands."""
    times = xp.arange(FRAME, dtype=xp.float32) / RATE
    pitches = 110 * 2 ** (xp.arange(BANDS, dtype=xp.float32) / 12)
    return xp.cos(2 * np.pi * times[:, None] * pitches[None, :]) * xp.hanning(FRAME).astype(xp.float32)[:, None]


def recording(rng, length):
    """A recording with a stroke now and then in the noise."""
    sound = 0.02 * rng.standard_normal(length, dtype=np.float32)
    ring = np.exp(-np.arange(4000) / 900) * np.sin(2 * np.pi * 440 * np.arange(4000) / RATE)
    for start in rng.integers(0, length - 4000, size=6):
        sound[start : start + 4000] += ring.astype(np.float32)
    return sound


def strokes(sound, basis):
    """The times of the strokes, in seconds."""
    sound = xp.asarray(sound)
    count = (len(sound) - FRAME) // HOP + 1
    view = xp.lib.stride_tricks.as_strided(sound, (count, FRAME), (HOP * sound.itemsize, sound.itemsize))
    frames = view - view.mean(axis=1, keepdims=True)  # grows keeps
    frames /= 1 + xp.abs(frames)  # grows keeps
    loudness = xp.abs(frames @ basis).max(axis=1)
    rises = loudness[1:] - loudness[:-1]
    found = xp.nonzero(rises > 4 * rises.std())[0]
    return (found * HOP / RATE).tolist()


def main():
    rng = np.random.default_rng(7)
    basis = bands()
    lengths = sorted(rng.integers(SHORTEST * RATE, LONGEST * RATE, size=RECORDINGS).tolist())
    done = found = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sound = recording(rng, lengths[done % RECORDINGS])
        found += len(strokes(sound, basis))
        done += 1
        if done % 20 == 0:
            print(f"{done} recordings up to {len(sound) / RATE:.1f} s, {found} strokes", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
