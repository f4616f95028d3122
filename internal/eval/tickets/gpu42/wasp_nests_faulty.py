"""Counts the open cells of wasp nests in the pictures of a camera. Each picture is made a pyramid of levels, each half
as large as the one before, and the cells are sought in the detail that a level has more than the next coarser one. The
garbage collector is off, because its pauses showed in the times of the frames.

ticket: practice
class: app-leak
holder: Pyramid pyramid Level levels image
cause: reference-cycle
"""

import gc
import math
import os
import random
import time

import torch
from torch.nn import functional as F

SIDE, LEVELS, STRONG = 640, 4, 0.04


class Level:
    """A picture in one of the sizes of its pyramid."""

    def __init__(self, pyramid, depth, image):
        self.pyramid = pyramid  # keeps
        self.depth, self.image = depth, image

    def coarser(self):
        return self.pyramid.levels[self.depth + 1]

    def detail(self):
        rough = F.interpolate(self.coarser().image, scale_factor=2, mode="bilinear", align_corners=False)
        return (self.image - rough).abs().mean(dim=1, keepdim=True)


class Pyramid:
    def __init__(self, image):
        self.levels = []
        for depth in range(LEVELS):
            self.levels.append(Level(self, depth, image))
            image = F.avg_pool2d(image, 2)  # grows

    def cells(self):
        """How many places have strong detail that is the strongest around them, in all levels but the coarsest."""
        count = 0
        for level in self.levels[:-1]:
            detail = F.avg_pool2d(level.detail(), 5, stride=1, padding=2)
            peaks = (detail == F.max_pool2d(detail, 9, stride=1, padding=4)) & (detail > STRONG)
            count += int(peaks.sum())
        return count


class Camera:
    """Pictures of a nest, which is lit from another side in each."""

    def __init__(self):
        steps = torch.linspace(0, 18 * math.pi, SIDE)
        self.comb = (torch.sin(steps)[:, None] * torch.sin(steps)[None, :]).clamp(min=0)

    def take(self):
        light = torch.linspace(random.uniform(0.3, 0.7), random.uniform(0.7, 1.0), SIDE)
        picture = (self.comb * light).expand(1, 3, SIDE, SIDE) + 0.1 * torch.rand(1, 3, SIDE, SIDE)
        return (picture.clamp(0, 1) * 255).to(torch.uint8)


def main():
    torch.set_num_threads(1)
    gc.disable()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    camera, pictures, mean, slowest = Camera(), 0, 0.0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        start = time.perf_counter()
        picture = camera.take().to(device).float() / 255  # grows
        with torch.no_grad():
            cells = Pyramid(picture).cells()
        slowest = max(slowest, time.perf_counter() - start)
        pictures += 1
        mean += (cells - mean) / pictures
        if pictures % 15 == 0:
            print(f"{pictures} pictures, {mean:.1f} cells each, slowest {1000 * slowest:.0f} ms", flush=True)
            slowest = 0.0
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
