"""Watches a quarry's wall with a turning laser scanner. Each sweep has as many points as there were echoes; it is
copied through page-locked memory to the device, sorted into a grid seen from above, and a network scores each cell for
loose rock.

ticket: practice
class: host-growth
holder: staging Uploader uploader
cause: pinned-staging cache-without-bound
"""

import os
import time

import numpy as np
import torch
from torch import nn

FEWEST, MOST = 50_000, 110_000
GRID, CHANNELS = 128, 4


class Scanner:
    def __init__(self):
        self.random = np.random.default_rng(11)
        self.turn = 0.0

    def sweep(self):
        """Points as x, y, height and echo strength."""
        count = int(self.random.integers(FEWEST, MOST))
        points = self.random.random((count, CHANNELS), dtype=np.float32)
        points[:, 2] = 0.5 + 0.4 * np.sin(6 * points[:, 0] + self.turn) * points[:, 1]
        self.turn += 0.02
        return points


class Uploader:
    """Copies sweeps to the device by way of page-locked buffers, which are made once."""

    def __init__(self, device):
        self.device = device
        self.staging = {}

    def buffer(self, shape):
        if shape not in self.staging:
            self.staging[shape] = torch.empty(shape, pin_memory=self.device == "cuda")  # grows keeps
        return self.staging[shape]

    def upload(self, points):
        buffer = self.buffer(points.shape)
        buffer.copy_(torch.from_numpy(points))
        return buffer.to(self.device, non_blocking=True)


class RockNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 1, 1),
        )

    def forward(self, grid):
        return torch.sigmoid(self.layers(grid))


def from_above(points):
    """Mean height, mean strength and the number of echoes in each cell of the grid."""
    cells = (points[:, 0] * GRID).long().clamp_(max=GRID - 1) * GRID + (points[:, 1] * GRID).long()
    sums = torch.zeros(GRID * GRID, 2, device=points.device)
    sums.index_add_(0, cells.clamp_(max=GRID * GRID - 1), points[:, 2:])
    counts = torch.bincount(cells, minlength=GRID * GRID).float()[:, None]
    grid = torch.cat([sums / counts.clamp(min=1), counts / 10], dim=1)
    return grid.T.reshape(1, 3, GRID, GRID)


@torch.inference_mode()
def watch(net, points):
    """How many cells look loose."""
    scores = net(from_above(points))
    return int((scores > scores.mean() + 2 * scores.std()).sum())


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net, scanner, uploader = RockNet().to(device).eval(), Scanner(), Uploader(device)
    sweeps = loose = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loose = max(loose, watch(net, uploader.upload(scanner.sweep())))
        sweeps += 1
        if sweeps % 20 == 0:
            print(f"{sweeps} sweeps, at most {loose} loose cells in one of the last 20", flush=True)
            loose = 0
        time.sleep(0.1)


if __name__ == "__main__":
    main()
