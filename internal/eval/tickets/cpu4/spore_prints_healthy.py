"""Spore prints of a mushroom farm, read by a small convolutional network.

Caps are laid on glass over night and the prints photographed in the morning. The pictures come from the table tray by
tray, pass a fixed network, and the feature maps are compared with the average map of the latest dozen trays, so that
a strange print (a wild strain in the beds) stands out and its bed is closed.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)

SIDE = 128
PRINTS = 4
PACE = 0.16
LATEST = 12
BEDS = 20


@dataclass
class Tray:
    number: int
    bed: int
    pictures: torch.Tensor


def draw_print(radius, gills, generator):
    """One print: dark rays under a round cap."""
    axis = torch.linspace(-1.0, 1.0, SIDE)
    down, across = torch.meshgrid(axis, axis, indexing="ij")
    distance = torch.sqrt(down ** 2 + across ** 2)
    rays = torch.cos(gills * torch.atan2(down, across)) * 0.5 + 0.5
    picture = torch.where(distance < radius, rays, torch.ones_like(rays))
    return picture + 0.05 * torch.randn(SIDE, SIDE, generator=generator)


def trays(end):
    """The table: a tray of prints at each beat until the morning is over."""
    generator = torch.Generator().manual_seed(5)
    number = 0
    due = time.time()
    while time.time() < end:
        wild = number % 37 == 30
        gills = 9 if wild else 24
        radii = 0.5 + 0.3 * torch.rand(PRINTS, generator=generator)
        prints = [draw_print(radius.item(), gills, generator) for radius in radii]
        yield Tray(number, number % BEDS, torch.stack(prints)[:, None])
        number += 1
        due += PACE
        time.sleep(max(0.0, due - time.time()))


class PrintNet(nn.Module):
    """Two strided layers; the weights are fixed."""

    def __init__(self):
        super().__init__()
        self.coarse = nn.Conv2d(1, 12, 5, stride=2, padding=2)
        self.fine = nn.Conv2d(12, 48, 3, stride=2, padding=1)

    def forward(self, pictures):
        return torch.tanh(self.fine(torch.relu(self.coarse(pictures))))


def featured(source, net):
    """Pairs each tray with its feature maps."""
    net.eval()
    for tray in source:
        with torch.no_grad():
            yield tray, net(tray.pictures)


class Morning:
    """What has been seen since the lamps went on."""

    def __init__(self):
        self.maps = deque(maxlen=LATEST)
        self.closed = set()
        self.usual = 0.0

    def add(self, features):
        self.maps.append(features)

    def strangeness(self, features):
        if len(self.maps) < LATEST:
            return 0.0
        average = sum(self.maps) / LATEST
        return (features - average).pow(2).mean().item()

    def judge(self, tray, strangeness):
        if self.usual and strangeness > 1.5 * self.usual:
            self.closed.add(tray.bed)
        elif strangeness:
            self.usual = strangeness if not self.usual else 0.9 * self.usual + 0.1 * strangeness


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(2)
    morning = Morning()
    for tray, features in featured(trays(end), PrintNet()):
        strangeness = morning.strangeness(features)
        morning.judge(tray, strangeness)
        morning.add(features)
        if tray.number % 18 == 17:
            print(f"tray {tray.number} bed {tray.bed} strangeness {strangeness:.5f} usual {morning.usual:.5f} "
                  f"closed beds {sorted(morning.closed)}", flush=True)
    print(f"lamps off, {len(morning.closed)} beds closed", flush=True)


if __name__ == "__main__":
    main()
