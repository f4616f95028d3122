"""Pollen grains drift through the beam of a holographic microscope. For each hologram the depth of the grain is found
by a golden-section search: the field is refocused at a depth with the angular spectrum method, and its sharpness is
measured. The latest transfer functions are cached, because they are costly to compute.

ticket: practice
class: none
"""

import functools
import math
import os
import random
import time

import cupy as cp

SIDE, PIXEL, WAVELENGTH = 384, 2.2e-6, 532e-9
NEAR, FAR = 1e-3, 6e-3
GOLDEN = (math.sqrt(5) - 1) / 2


@functools.lru_cache(maxsize=8)
def transfer(depth):
    """What a field undergoes on its way over this depth, by spatial frequency."""
    frequencies = cp.fft.fftfreq(SIDE, PIXEL).astype(cp.float32)
    squares = frequencies[:, None] ** 2 + frequencies[None, :] ** 2
    phase = (2 * math.pi / WAVELENGTH) * depth * cp.sqrt(cp.maximum(1 - WAVELENGTH**2 * squares, 0))
    return cp.exp(1j * phase).astype(cp.complex64)


def propagate(field, depth):
    return cp.fft.ifft2(cp.fft.fft2(field) * transfer(depth))


def hologram(depth):
    """The picture of a round grain that far from the camera."""
    axis = (cp.arange(SIDE, dtype=cp.float32) - SIDE / 2) * PIXEL
    x, y = random.uniform(-2e-4, 2e-4), random.uniform(-2e-4, 2e-4)
    grain = (axis[:, None] - y) ** 2 + (axis[None, :] - x) ** 2 < 15e-6**2
    field = cp.where(grain, 0.2, 1.0).astype(cp.complex64)
    return cp.abs(propagate(field, depth)) ** 2


def blur(picture, depth):
    """Low where the grain is in focus."""
    amplitude = cp.abs(propagate(cp.sqrt(picture).astype(cp.complex64), -depth))
    edges = cp.abs(cp.diff(amplitude, axis=0)).max() + cp.abs(cp.diff(amplitude, axis=1)).max()
    return -float(edges)


def focus(picture, steps=5):
    low, high = NEAR, FAR
    for _ in range(steps):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if blur(picture, left) < blur(picture, right):
            high = right
        else:
            low = left
    return (low + high) / 2


def main():
    grains, error = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        depth = random.uniform(NEAR, FAR)
        picture = hologram(depth)
        found = focus(picture)
        grains += 1
        error += abs(found - depth)
        if grains % 20 == 0:
            print(f"{grains} grains, mean error of depth {1e3 * error / grains:.2f} mm", flush=True)
        time.sleep(random.uniform(0.2, 0.5))


if __name__ == "__main__":
    main()
