"""Volumes are reconstructed from projections, one after the other. Copies of the last middle planes are kept on the
device for a film.

ticket: practice
class: none
"""

import collections
import os
import random
import time

import cupy as cp


class Reconstruction:
    """Filtered back projection with parallel rays, without any care for quality."""

    def __init__(self, size=96, angles=24):
        self.size, self.angles = size, cp.linspace(0, cp.pi, angles, endpoint=False)
        axis = cp.arange(size, dtype=cp.float32) - size / 2
        x, y = cp.meshgrid(axis, axis)
        shifts = cp.cos(self.angles)[:, None, None] * x + cp.sin(self.angles)[:, None, None] * y
        self.rays = cp.clip(shifts + size / 2, 0, size - 1).astype(cp.int32)
        self.ramp = cp.abs(cp.fft.rfftfreq(size)).astype(cp.float32)

    def __call__(self, projections):
        filtered = cp.fft.irfft(cp.fft.rfft(projections, axis=2) * self.ramp, n=self.size, axis=2)
        volume = cp.zeros((projections.shape[1], self.size, self.size), cp.float32)
        for number in range(len(self.angles)):
            volume += filtered[number][:, self.rays[number]]
        return volume


class Film:
    def __init__(self, frames=40):
        self.frames, self.planes = frames, collections.deque(maxlen=frames)

    def add(self, volume):
        self.planes.append(volume[len(volume) // 2].copy())

    def contrast(self):
        planes = cp.stack(list(self.planes)[-self.frames:])
        return float(planes.std() / (cp.abs(planes).mean() + 1e-6))


def scan(angles, depth, size):
    """Projections of a few moving blobs."""
    rows, columns = cp.arange(depth)[:, None], cp.arange(size)[None]
    projections = cp.zeros((angles, depth, size), cp.float32)
    for _ in range(5):
        row, column, width = random.uniform(0, depth), random.uniform(0, size), random.uniform(3, 9)
        blob = cp.exp(-((rows - row) ** 2 + (columns - column) ** 2) / width ** 2)
        projections += blob.astype(cp.float32)
    return projections + 0.05 * cp.random.standard_normal(projections.shape, dtype=cp.float32)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    reconstruct, film, done = Reconstruction(), Film(), 0
    while time.time() < end:
        volume = reconstruct(scan(24, random.choice([24, 32, 48]), 96))
        film.add(volume)
        done += 1
        if done % 20 == 0:
            print("volumes", done, "contrast", round(film.contrast(), 3), flush=True)
            time.sleep(0.5)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
