"""Estimates how far the varnish on a museum's portraits has yellowed.

Each portrait is photographed under four lamps (white, raking, ultraviolet and infrared) and cut
into eight tiles.  A convolutional network looks at the tiles; besides its verdict the restorers
want to know how steadily the middle layer answers from lamp to lamp, for a patchy answer means
old retouching under the varnish.  The sheet for the workshop lists both numbers, one portrait
after another.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LAMPS = ("white", "raking", "ultraviolet", "infrared")
TILES = 8
SIDE = 256


class VarnishNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 5, stride=2, padding=2), nn.ReLU())
        self.middle = nn.Sequential(nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU())
        self.tail = nn.Sequential(nn.Conv2d(64, 96, 3, stride=4, padding=1), nn.ReLU())
        self.verdict = nn.Linear(96, 1)

    def forward(self, tiles):
        maps = self.tail(self.middle(self.stem(tiles)))
        return torch.sigmoid(self.verdict(maps.mean(dim=(2, 3))))


class LayerGauge:
    """Follows one layer while a portrait is seen under lamp after lamp."""

    def __init__(self, layer):
        self.heat_sum = None
        self.heat_square = None
        self.seen = 0
        self.handle = layer.register_forward_hook(self.read)

    def read(self, layer, inputs, output):
        if self.heat_sum is None:
            self.heat_sum = torch.zeros_like(output)
            self.heat_square = torch.zeros_like(output)
        self.heat_sum.add_(output)
        self.heat_square.addcmul_(output, output)
        self.seen += 1

    def remove(self):
        self.handle.remove()

    def patchiness(self):
        mean = self.heat_sum / self.seen
        spread = (self.heat_square / self.seen - mean * mean).clamp_min(0.0).sqrt()
        return (spread.mean() / (mean.mean() + 1e-6)).item()


class Studio:
    """Photographs a portrait: a face-like gradient, craquelure and the colour of the lamp."""

    def __init__(self, seed):
        self.dice = torch.Generator().manual_seed(seed)
        rows = torch.linspace(-1, 1, SIDE)
        self.oval = torch.exp(-2.0 * (rows[:, None] ** 2 + 1.6 * rows[None, :] ** 2))
        self.tints = torch.rand(len(LAMPS), 3, 1, 1, generator=self.dice) + 0.3

    def portrait(self):
        age = torch.rand((), generator=self.dice)
        cracks = torch.rand(TILES, 1, SIDE, SIDE, generator=self.dice) * 0.3 * age
        return (self.oval - cracks).to(DEVICE)

    def lit(self, portrait, lamp):
        return (portrait * self.tints[lamp].to(DEVICE)).clamp(0.0, 1.0)


@torch.no_grad()
def inspect(network, studio):
    portrait = studio.portrait()
    gauge = LayerGauge(network.middle)
    verdicts = []
    try:
        for lamp in range(len(LAMPS)):
            verdicts.append(network(studio.lit(portrait, lamp)).mean())
    finally:
        gauge.remove()
    yellow = torch.stack(verdicts).mean().item()
    return yellow, gauge.patchiness()


def main():
    closing = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(20)
    network = VarnishNet().to(DEVICE).eval()
    studio = Studio(seed=8)
    sheet = deque(maxlen=25)
    number = 0
    while time.time() < closing:
        number += 1
        yellow, patchy = inspect(network, studio)
        sheet.append((number, yellow, patchy))
        if number % 10 == 0:
            worst = max(sheet, key=lambda line: line[2])
            print(f"portrait {number:4d}: yellow {yellow:.3f}, patchy {patchy:.3f}; "
                  f"patchiest of late no. {worst[0]} ({worst[2]:.3f})", flush=True)
        time.sleep(0.45)
    print(f"{number} portraits inspected", flush=True)


if __name__ == "__main__":
    main()
