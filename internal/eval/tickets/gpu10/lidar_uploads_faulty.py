"""Sweeps of some lidars are uploaded through pinned memory, so that the copy runs beside the work on the sweep before,
and obstacles are found in them. A buffer must not be used again while its copy is under way: it waits with its event in
a list, which is gone through when the drive is over.

ticket: practice
class: host-growth
holder: in_flight
cause: pinned-kept buffer-without-bound
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

POINTS, GRID = (16384, 32768, 65536), 64


class Lidar:
    """Sweeps of points with their strength: the ground, and some boxes on it."""

    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)

    def sweep(self):
        count = int(self.numbers.choice(POINTS))
        points = self.numbers.uniform(-40, 40, (count, 4)).astype(np.float32)
        points[:, 2] = self.numbers.normal(0, 0.05, count)
        for _ in range(self.numbers.integers(2, 9)):
            corner = self.numbers.uniform(-35, 30, 2)
            inside = ((points[:, :2] > corner) & (points[:, :2] < corner + 4)).all(1)
            points[inside, 2] += self.numbers.uniform(0, 2, inside.sum())
        return points


class Uploader:
    """Copies arrays to the device without waiting for it."""

    def __init__(self, device):
        self.device, self.pinned = device, device == "cuda"
        self.stream = torch.cuda.Stream() if self.pinned else None
        self.in_flight = []

    def send(self, array):
        buffer = torch.empty(array.shape, dtype=torch.float32, pin_memory=self.pinned)  # grows
        buffer.copy_(torch.from_numpy(array))
        with torch.cuda.stream(self.stream):
            sent, event = buffer.to(self.device, non_blocking=True), None
        if self.pinned:
            event = self.stream.record_event()
            torch.cuda.current_stream().wait_event(event)
            sent.record_stream(torch.cuda.current_stream())
        self.in_flight.append((buffer, event))  # keeps
        return sent

    def finish(self):
        for _, event in self.in_flight:
            if event is not None:
                event.synchronize()
        self.in_flight.clear()


class Finder(nn.Module):
    """Obstacles in a map of how high the points of each cell reach."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(2, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(16, 1, 1))

    def forward(self, points):
        cell = ((points[:, :2] + 40) / 80 * GRID).long().clamp(0, GRID - 1)
        index = cell[:, 0] * GRID + cell[:, 1]
        height = torch.zeros(GRID * GRID, device=points.device).index_add(0, index, points[:, 2])
        count = torch.zeros_like(height).index_add(0, index, torch.ones_like(points[:, 2]))
        seen = torch.stack([height / count.clamp(min=1), count.log1p()]).view(1, 2, GRID, GRID)
        return torch.sigmoid(self.net(seen))


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lidars = [Lidar(seed) for seed in range(3)]
    uploader, finder, sweeps = Uploader(device), Finder().to(device).eval(), 0
    while time.time() < end:
        for lidar in random.sample(lidars, random.randint(1, 3)):
            marks = finder(uploader.send(lidar.sweep()))
            sweeps += 1
            if sweeps % 40 == 0:
                print(sweeps, "sweeps, highest mark", round(float(marks.max()), 3), flush=True)
        time.sleep(random.uniform(0.05, 0.25))
    uploader.finish()


if __name__ == "__main__":
    main()
