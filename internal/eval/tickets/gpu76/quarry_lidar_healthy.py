"""Measures the heap of gravel below a conveyor in a quarry. Each sweep of the lidar is copied to the device through a
page-locked buffer, turned into a grid of heights, and summed up to a volume. Page-locked memory is dear to allocate,
so a buffer goes back on the shelf when its sweep is done, for the next of about its size.

ticket: practice
class: none
"""

import os
import random
import time
from collections import defaultdict

import numpy as np
import torch

CELLS, SIDE = 256, 40.0
FEWEST, MOST, STEP = 140_000, 250_000, 32_768


class Staging:
    """Page-locked buffers for points (x, y, z, intensity)."""

    def __init__(self, device):
        self.device = device
        self.shelf = defaultdict(list)

    def take(self, count):
        size = -(-count // STEP) * STEP
        if self.shelf[size]:
            return self.shelf[size].pop()
        return torch.empty(size, 4, pin_memory=self.device == "cuda")

    def give(self, buffer):
        self.shelf[len(buffer)].append(buffer)


class Heap:
    """The heights of the heap, smoothed over the sweeps."""

    def __init__(self, device):
        self.heights = torch.zeros(CELLS * CELLS, device=device)

    def update(self, points):
        cells = ((points[:, :2] / SIDE + 0.5) * CELLS).long().clamp_(0, CELLS - 1)
        index = cells[:, 1] * CELLS + cells[:, 0]
        total = torch.zeros_like(self.heights).index_add_(0, index, points[:, 2])
        hits = torch.zeros_like(self.heights).index_add_(0, index, torch.ones_like(points[:, 2]))
        fresh = torch.where(hits > 0, total / hits.clamp_min(1), self.heights)
        self.heights.lerp_(fresh, 0.2)

    def volume(self):
        return self.heights.sum().item() * (SIDE / CELLS) ** 2


class Lidar:
    """Stands in for the sensor: a cone of gravel; dust swallows some of the points."""

    def __init__(self):
        self.random = np.random.default_rng(4)
        self.height = 5.0

    def sweep(self):
        count = random.randint(FEWEST, MOST)
        self.height += self.random.uniform(-0.02, 0.03)
        points = self.random.random((count, 4), dtype=np.float32)
        points[:, :2] = (points[:, :2] - 0.5) * SIDE
        away = np.hypot(points[:, 0], points[:, 1])
        points[:, 2] = np.maximum(self.height - 0.6 * away, 0) + 0.05 * points[:, 2]
        return points


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    staging, heap, lidar, sweeps = Staging(device), Heap(device), Lidar(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sweep = lidar.sweep()
        buffer = staging.take(len(sweep))
        buffer[:len(sweep)].copy_(torch.from_numpy(sweep))
        points = buffer[:len(sweep)].to(device, non_blocking=True)
        heap.update(points)
        volume = heap.volume()
        staging.give(buffer)
        sweeps += 1
        if sweeps % 20 == 0:
            print(f"sweep {sweeps}: {len(sweep)} points, {volume:.1f} cubic metres", flush=True)
        time.sleep(random.uniform(0.1, 0.2))


if __name__ == "__main__":
    main()
