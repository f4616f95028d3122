"""Watch how the giraffes of a zoo walk and warn the keepers when one begins to limp.

A camera over the long path between the stable and the savannah takes a short clip whenever a giraffe passes. A
network finds the hooves and joints in every frame as maps of where each of them is likely to be. The maps of a clip
are cut into strides, and each stride is set against the walk that it belongs to: how long it is beside the mean of
the walk, and how far the left legs differ from the right ones. An animal whose strides stay uneven over several
walks is put on the list of the veterinarian.

ticket: practice
class: none
"""
import gc
import os
import random
import time
import weakref

import numpy as np
import torch
from torch import nn

ANIMALS = ("Akili", "Bahati", "Chui", "Dalia", "Etana", "Faraja")
JOINTS = 14
FRAMES = 32
STRIDES = 4
ROWS, COLS = 48, 32
WALKS_A_SECOND = 5.0


class JointNet(nn.Module):
    """Maps of the joints, at half the size of the frame."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 24, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(24, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, JOINTS, 3, padding=1),
        )

    def forward(self, frames):
        maps = self.body(frames)
        return maps.flatten(2).softmax(dim=2).view_as(maps)


class Path:
    """The camera over the path: frames of one passage."""

    def __init__(self, device):
        self.device = device
        self.rows = torch.linspace(0.0, 1.0, 2 * ROWS, device=device)[None, :, None]
        self.cols = torch.linspace(0.0, 1.0, 2 * COLS, device=device)[None, None, :]

    def clip(self, limp):
        beat = torch.linspace(0.0, 6.28 * STRIDES, FRAMES, device=self.device).view(-1, 1, 1)
        frames = torch.zeros(FRAMES, 2 * ROWS, 2 * COLS, device=self.device)
        for leg in range(4):
            swing = 0.2 + 0.2 * leg + 0.08 * torch.sin(beat + 1.57 * leg) * (1.0 - limp * (leg % 2))
            frames += torch.exp(-((self.cols - swing) * 14.0) ** 2) * (self.rows > 0.4)
        return (frames + 0.05 * torch.randn_like(frames))[:, None]


class Stride:
    """A part of a walk, from one fall of the left fore hoof to the next."""

    def __init__(self, walk, first, last):
        self._walk = weakref.ref(walk)
        self.first, self.last = first, last

    @property
    def walk(self):
        return self._walk()

    def reach(self):
        spots = self.walk.spots[self.first:self.last]
        return (spots.max(axis=0) - spots.min(axis=0)).astype(np.float64)

    def unevenness(self):
        legs = self.reach()
        beside = abs(legs.mean() / (self.walk.mean_reach() + 1e-6) - 1.0)
        return beside + abs(legs[0::2].mean() - legs[1::2].mean()) / (legs.mean() + 1e-6)


class Walk:
    """One passage of one animal: its maps, the spots read from them, and its strides."""

    def __init__(self, animal, maps):
        self.animal = animal
        self.maps = maps
        self.spots = (maps.sum(axis=2) * np.arange(COLS, dtype=np.float32)).sum(axis=2)
        each = FRAMES // STRIDES
        self.strides = [Stride(self, part * each, (part + 1) * each) for part in range(STRIDES)]

    def mean_reach(self):
        return float(np.mean([stride.reach().mean() for stride in self.strides]))

    def unevenness(self):
        return float(np.median([stride.unevenness() for stride in self.strides]))


class Keepers:
    def __init__(self):
        self.uneven = {animal: 0.0 for animal in ANIMALS}
        self.walks = 0

    def hear(self, walk):
        self.walks += 1
        self.uneven[walk.animal] += 0.1 * (walk.unevenness() - self.uneven[walk.animal])

    def line(self):
        animal = max(self.uneven, key=self.uneven.get)
        return f"{self.walks} walks, {animal} is the least even at {self.uneven[animal]:.4f}"


@torch.no_grad()
def read_maps(net, clip):
    return net(clip).cpu().numpy()


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(6)
    gc.disable()  # even times between the frames
    dice = random.Random(6)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net, path, keepers = JointNet().to(device).eval(), Path(device), Keepers()

    due = time.time()
    while time.time() < stop:
        animal = dice.choice(ANIMALS)
        maps = read_maps(net, path.clip(limp=0.6 if animal == "Dalia" else 0.05))
        keepers.hear(Walk(animal, maps))
        if keepers.walks % 25 == 0:
            print(keepers.line(), flush=True)
        due = max(due + 1.0 / WALKS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    print("path closed:", keepers.line(), flush=True)


if __name__ == "__main__":
    main()
