"""The height of a forest's trees is learnt from pictures of a satellite, where laser shots from a plane have measured
it. Every so often the network is tested on tiles set aside, by a measure with update and compute as they are in the
libraries for that; it gathers the errors of all tiles on the processor.

ticket: practice
class: host-growth
holder: errors measure
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn

SIDE, BANDS, TALL = 160, 5, 35.0


class HeightNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(BANDS, 16, 4, 4), nn.ReLU(), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(24, 1, 4, 4)

    def forward(self, tiles):
        return TALL * torch.sigmoid(self.up(self.down(tiles)) - 1)[:, 0]


class HeightErrors:
    """The mean size of the errors, their bias, and how large those on tall trees are."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.errors, self.tall = [], []

    def update(self, guessed, height):
        self.errors.append((guessed - height).cpu())  # grows keeps
        self.tall.append((height > 0.6 * TALL).cpu())

    def compute(self):
        points = sum(error.numel() for error in self.errors)
        tall = max(sum(int(mask.sum()) for mask in self.tall), 1)
        return {"rmse": (sum(float(error.square().sum()) for error in self.errors) / points) ** 0.5,
                "bias": sum(float(error.sum()) for error in self.errors) / points,
                "tall": sum(float(error.abs().mul(mask).sum())
                            for error, mask in zip(self.errors, self.tall)) / tall}


class Forest:
    """Woods seen from above."""

    def __init__(self, device):
        self.device = device
        self.colours = torch.rand(BANDS, 1, 1, device=device)

    def tiles(self, count):
        coarse = torch.rand(count, 1, 12, 12, device=self.device)
        height = TALL * nn.functional.interpolate(coarse, (SIDE, SIDE), mode="bilinear", align_corners=False) ** 2
        crowns = 1 + 0.2 * torch.randn(count, 1, SIDE, SIDE, device=self.device)
        seen = self.colours * (height / TALL) * crowns + 0.1 * torch.randn(count, BANDS, SIDE, SIDE, device=self.device)
        return seen, height[:, 0]


class Training:
    def __init__(self, device):
        self.forest, self.model = Forest(device), HeightNet().to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.measure = HeightErrors()

    def epoch(self, steps):
        for _ in range(steps):
            tiles, height = self.forest.tiles(4)
            shots = torch.rand_like(height) < 0.1
            loss = (self.model(tiles) - height)[shots].abs().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(random.uniform(0.0, 0.05))

    @torch.no_grad()
    def test(self, batches):
        for _ in range(batches):
            tiles, height = self.forest.tiles(random.choice((4, 6, 8)))
            self.measure.update(self.model(tiles), height)
        return self.measure.compute()


def main():
    torch.set_num_threads(1)
    training = Training("cuda" if torch.cuda.is_available() else "cpu")
    end, epochs = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        training.epoch(random.randint(5, 20))
        found = training.test(random.randint(5, 8))
        epochs += 1
        print("epoch", epochs, {name: round(value, 3) for name, value in found.items()}, flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
