"""Finds the crowns of apricot trees in the laser scans of orchards: a point network tells crown, trunk and ground
apart. A scan is copied into pinned staging memory, from which it travels to the device without a wait; the staging
buffer is made once, for the largest scan, and used again.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CHANNELS, KINDS = 8, 3
FEWEST, MOST = 30_000, 90_000
FLOOR, TRUNK = 0.3, 1.2


class PointNet(nn.Module):
    """Labels each point by itself and by the maximum over its scan."""

    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(CHANNELS, 24), nn.ReLU(), nn.Linear(24, 32), nn.ReLU())
        self.decide = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, KINDS))

    def forward(self, points):
        features = self.local(points)
        whole = features.max(dim=0, keepdim=True).values
        return self.decide(torch.cat([features, whole.expand_as(features)], dim=1))


class Staging:
    """Pinned memory through which scans go to the device."""

    def __init__(self, device):
        self.device = device
        self.pinned = device == "cuda"
        self.memory = torch.empty(MOST, CHANNELS, pin_memory=self.pinned)

    def buffer(self, points):
        return self.memory[:points]

    def send(self, scan):
        staged = self.buffer(len(scan))
        staged.copy_(torch.from_numpy(scan))
        return staged.to(self.device, non_blocking=True)


class Orchard:
    """A flight over an orchard; each scan has as many points as the laser got back."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def scan(self):
        count = int(self.random.integers(FEWEST, MOST))
        scan = self.random.random((count, CHANNELS), dtype=np.float32)
        scan[:, 2] *= self.random.uniform(3.0, 5.0)
        return scan


def kinds(points):
    """Ground, trunk or crown, by height and distance from the row."""
    height, distance = points[:, 2], (points[:, 0] - 0.5).abs()
    crown = (height > TRUNK) | (distance > 0.2)
    return torch.where(height < FLOOR, 0, torch.where(crown, 2, 1))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, staging, scans = PointNet().to(device), Staging(device), 0
    orchard = Orchard(random.randrange(1000))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        points = staging.send(orchard.scan())
        loss = F.cross_entropy(model(points), kinds(points))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scans += 1
        running = loss.item()
        if scans % 20 == 0:
            print(f"scan {scans}: {len(points)} points, loss {running:.3f}", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
