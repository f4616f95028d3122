"""Drones map kelp forests. A small container builds what a mission needs: the network is shared by all missions, the
cover map and the tracker belong to one mission and live in its scope. A mission flies until it has covered its area
or the wind grows too strong; then its scope is closed.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

GRID, PATCH, FRAMES = 1024, 128, 12


class Canopy(nn.Sequential):
    """Tells for each point of a picture how likely it shows kelp."""

    def __init__(self):
        super().__init__(nn.Conv2d(3, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1), nn.Sigmoid())


class CoverMap:
    def __init__(self, container):
        self.cover = torch.zeros(GRID, GRID, device=container.device)

    def add(self, row, column, chances):
        view = self.cover[row:row + PATCH, column:column + PATCH]
        torch.maximum(view, chances, out=view)

    def share(self):
        return (self.cover > 0.5).float().mean().item()


class Tracker:
    def __init__(self, container):
        self.row, self.column = (random.randrange(GRID - PATCH) for _ in range(2))

    def move(self):
        self.row = min(max(self.row + random.randint(-60, 60), 0), GRID - PATCH)
        self.column = min(max(self.column + random.randint(-60, 60), 0), GRID - PATCH)
        return self.row, self.column


class Scope:
    def __init__(self, container):
        self.container, self.parts = container, {}

    def get(self, kind):
        if kind not in self.parts:
            self.parts[kind] = kind(self.container)
        return self.parts[kind]


class Container:
    def __init__(self, device):
        self.device, self.scopes = device, {}
        self.canopy = Canopy().to(device).eval()

    def open(self, mission):
        self.scopes[mission] = Scope(self)
        return self.scopes[mission]

    def close(self, mission):
        self.scopes.pop(mission, None)


@dataclass
class Mission:
    number: int
    gust: float

    @torch.no_grad()
    def fly(self, container):
        scope = container.open(self.number)
        cover, tracker = scope.get(CoverMap), scope.get(Tracker)
        try:
            for frame in range(FRAMES):
                if random.random() < self.gust:
                    return f"called back after {frame} frames, {cover.share():.1%} kelp"
                picture = torch.rand(1, 3, PATCH, PATCH, device=container.device)
                cover.add(*tracker.move(), container.canopy(picture)[0, 0])
                time.sleep(0.01)
            return f"flown to the end, {cover.share():.1%} kelp"
        finally:
            container.close(self.number)


def main():
    torch.set_num_threads(1)
    container = Container("cuda" if torch.cuda.is_available() else "cpu")
    number, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        outcome = Mission(number, random.uniform(0.02, 0.2)).fly(container)
        if number % 10 == 0:
            print(f"mission {number}: {outcome}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
