"""Divers film a kelp forest, and the film is cleaned on the GPU: each clip is freed of its drift of light, sharpened,
and written into a block from which the encoder of the camera maker reads. The encoder takes plain blocks of the CUDA
runtime only, not parts of the pool of CuPy.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime

FRAMES, HEIGHT, WIDTH = 12, 360, 480


class EncoderBlock:
    """A block of the CUDA runtime, seen as an array of frames."""

    def __init__(self, shape):
        size = int(np.prod(shape)) * 4
        self.pointer = runtime.malloc(size)
        memory = cp.cuda.UnownedMemory(self.pointer, size, None)
        self.frames = cp.ndarray(shape, dtype=cp.float32, memptr=cp.cuda.MemoryPointer(memory, 0))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        cp.cuda.Device().synchronize()
        self.frames = None
        runtime.free(self.pointer)


class Encoder:
    """Stands for the encoder: it takes sums of what it reads instead of packing it."""

    def __init__(self):
        self.clips, self.brightness = 0, 0.0

    def write(self, block):
        mean = float(block.frames.mean())
        self.clips += 1
        self.brightness += (mean - self.brightness) / self.clips


def film():
    """A clip of grey frames whose light drifts."""
    drift = np.linspace(0, random.uniform(0.2, 0.6), FRAMES, dtype=np.float32)
    frames = np.random.rand(FRAMES, HEIGHT, WIDTH).astype(np.float32)
    return frames + drift[:, None, None]


def steady(frames):
    """Takes the drift of light out of a clip."""
    light = frames.mean(axis=(1, 2), keepdims=True)
    return frames - light + light.mean()


def sharpen(frames, strength=0.6):
    blurred = (
        cp.roll(frames, 1, axis=1)
        + cp.roll(frames, -1, axis=1)
        + cp.roll(frames, 1, axis=2)
        + cp.roll(frames, -1, axis=2)
    ) / 4
    return frames + strength * (frames - blurred)


def clean(clip, encoder):
    frames = sharpen(steady(cp.asarray(clip)))
    with EncoderBlock(frames.shape) as block:
        cp.clip(frames, 0, 2, out=block.frames)
        encoder.write(block)


def main():
    encoder = Encoder()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        clean(film(), encoder)
        if encoder.clips % 10 == 0:
            print(f"{encoder.clips} clips, mean brightness {encoder.brightness:.3f}", flush=True)
        time.sleep(random.uniform(0.2, 0.4))


if __name__ == "__main__":
    main()
