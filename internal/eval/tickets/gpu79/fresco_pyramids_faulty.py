"""Looks for frescoes that were photographed twice. Each photograph becomes a pyramid of levels, each half as wide as
the one before; the energy of the detail between neighbouring levels is its signature, and the signature is compared
with those of the photographs just before it. Pauses of the garbage collector made the pace uneven, so it is off.

ticket: practice
class: app-leak
holder: finer coarser Level
cause: reference-cycle
"""

import gc
import os
import random
import time
from collections import deque

import torch
from torch.nn import functional as F

SIDE, LEVELS, RECENT = 512, 5, 40


class Level:
    """One level of a pyramid, which knows its neighbours."""

    def __init__(self, image, finer=None):
        self.image = image
        self.finer = finer
        self.coarser = None

    def halve(self):
        self.coarser = Level(F.avg_pool2d(self.image, 2), finer=self)  # grows keeps
        return self.coarser

    def detail(self):
        """What the finer neighbour shows and this level does not."""
        return self.finer.image - F.interpolate(self.image, scale_factor=2.0)


def photograph(scene, device):
    """A scene in the light of the day, from a wall that is repeated in many photographs."""
    noise = torch.Generator().manual_seed(scene)
    coarse = torch.rand(1, 3, 32, 32, generator=noise).to(device)
    wall = F.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    return wall * random.uniform(0.8, 1.2) + 0.02 * torch.randn(1, 3, SIDE, SIDE, device=device)


def pyramid(picture):
    base = Level((picture - picture.mean()) / picture.std())  # grows
    level = base
    for _ in range(LEVELS - 1):
        level = level.halve()
    return base


def signature(base):
    energies, level = [], base.coarser
    while level is not None:
        detail = level.detail()
        energies.append(detail.square().mean(dim=(2, 3)).flatten())
        level = level.coarser
    return torch.cat(energies).log().cpu()


def main():
    torch.set_num_threads(1)
    gc.disable()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recent = deque(maxlen=RECENT)
    photographs = twice = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        base = pyramid(photograph(random.randrange(300), device))
        mark = signature(base)
        if recent:
            distances = (torch.stack(tuple(recent)) - mark).norm(dim=1)
            twice += int(distances.min().item() < 0.1)
        recent.append(mark)
        photographs += 1
        if photographs % 20 == 0:
            print(f"{photographs} photographs, {twice} perhaps taken twice", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
