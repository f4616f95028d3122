"""Does a vision network see the same in a fresco when its tiles are turned? Tiles are drawn, each is turned by some
angle, and the features of the turned tile are compared with those of the tile itself. To turn a tile takes long on the
host, so tiles that were turned once are remembered.

ticket: practice
class: host-growth
holder: turned Tiles tiles
cause: cache-without-bound
"""

import os
import random
import time
from collections import defaultdict

import torch
from torch.nn import functional as F
from torchvision.models import mobilenet_v3_small
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as TF

TILES, SIDE, BATCH, MOST = 10, 96, 16, 30


class Tiles:
    """The tiles of the fresco, and those that were turned already."""

    def __init__(self):
        coarse = torch.rand(TILES, 3, 12, 12)
        self.tiles = F.interpolate(coarse, size=(SIDE, SIDE), mode="bicubic", align_corners=False).clamp(0, 1)
        self.turned = {}

    def turn(self, number, angle):
        key = number, angle
        if key not in self.turned:
            turned = TF.rotate(self.tiles[number], angle, interpolation=InterpolationMode.BILINEAR)  # grows
            self.turned[key] = turned  # keeps
        return self.turned[key]


class Agreement:
    """The mean likeness of the features, by how far the tile was turned."""

    def __init__(self):
        self.sums, self.counts = defaultdict(float), defaultdict(int)

    def add(self, angle, likeness):
        bin_ = int(abs(angle) // 10) * 10
        self.sums[bin_] += likeness
        self.counts[bin_] += 1

    def __str__(self):
        return ", ".join(f"{bin_}: {self.sums[bin_] / self.counts[bin_]:.3f}" for bin_ in sorted(self.sums))


def draw_angle():
    return random.uniform(-MOST, MOST)


@torch.no_grad()
def compare(network, plain, turned):
    """How alike the features are of each tile and of the same tile turned."""
    features = network.avgpool(network.features(torch.cat([plain, turned]))).flatten(1)
    return F.cosine_similarity(*features.chunk(2)).tolist()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = mobilenet_v3_small(weights=None).to(device).eval()
    tiles, agreement, batches = Tiles(), Agreement(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        numbers = [random.randrange(TILES) for _ in range(BATCH)]
        angles = [draw_angle() for _ in range(BATCH)]
        turned = torch.stack([tiles.turn(number, angle) for number, angle in zip(numbers, angles)])
        likenesses = compare(network, tiles.tiles[numbers].to(device), turned.to(device))
        for angle, likeness in zip(angles, likenesses):
            agreement.add(angle, likeness)
        batches += 1
        if batches % 20 == 0:
            print(f"{batches} batches, likeness by angle:", agreement, flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
