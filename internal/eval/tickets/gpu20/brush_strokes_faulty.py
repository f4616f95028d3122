"""Who painted it? A network learns to tell painters by small pieces of their paintings, turned a bit and cut out at
random. Turning a painting on the CPU takes longer than a training step, so the dataset remembers what it has turned.

ticket: practice
class: host-growth
holder: cache Pieces dataset
cause: cache-without-bound
"""

import math
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

PAINTERS = ("Anna", "Bela", "Cato", "Dora")
PAINTINGS, SIDE, PIECE, BATCH = 20, 224, 96, 8


class Paintings:
    """The paintings of a museum; a painter has strokes of a certain length and direction."""

    def __init__(self, seed):
        self.seed = seed

    def __len__(self):
        return PAINTINGS

    def load(self, number):
        rng = np.random.default_rng(self.seed + number)
        painter = number % len(PAINTERS)
        canvas = np.full((3, SIDE, SIDE), rng.uniform(0.2, 0.6), np.float32)
        for _ in range(120):
            row, column = rng.integers(0, SIDE - 30, 2)
            high, wide = (6 + 6 * painter, 4) if rng.random() < 0.7 else (4, 10)
            canvas[:, row:row + high, column:column + wide] = rng.random((3, 1, 1))
        return torch.from_numpy(canvas), painter


class Pieces(Dataset):
    def __init__(self, paintings, turn=25):
        self.paintings, self.turn = paintings, turn
        self.cache = {}

    def __len__(self):
        return 6 * len(self.paintings)

    def turned(self, number, degrees):
        key = number, degrees
        if key not in self.cache:
            painting, painter = self.paintings.load(number)
            angle = math.radians(degrees)
            matrix = torch.tensor([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0]])
            grid = F.affine_grid(matrix[None], (1, 3, SIDE, SIDE), align_corners=False)
            painting = F.grid_sample(painting[None], grid, padding_mode="reflection", align_corners=False)[0]  # grows
            self.cache[key] = painting, painter  # keeps
        return self.cache[key]

    def __getitem__(self, index):
        painting, painter = self.turned(index % len(self.paintings), random.uniform(-self.turn, self.turn))
        top, left = random.randrange(SIDE - PIECE), random.randrange(SIDE - PIECE)
        piece = painting[:, top:top + PIECE, left:left + PIECE]
        return piece + 0.05 * torch.randn(piece.shape), painter


def network():
    return nn.Sequential(nn.Conv2d(3, 16, 7, stride=3), nn.ReLU(), nn.Conv2d(16, 32, 5, stride=3), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, len(PAINTERS)))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = DataLoader(Pieces(Paintings(100)), batch_size=BATCH, shuffle=True, drop_last=True)
    model = network().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end, epoch = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        right = seen = 0
        for pieces, painters in loader:
            pieces, painters = pieces.to(device), painters.to(device)
            scores = model(pieces)
            loss = F.cross_entropy(scores, painters)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (scores.argmax(1) == painters).sum().item()
            seen += len(painters)
            time.sleep(random.uniform(0.05, 0.35))
            if time.time() > end:
                break
        epoch += 1
        print("epoch", epoch, "right", f"{100 * right / seen:.0f} %", flush=True)


if __name__ == "__main__":
    main()
