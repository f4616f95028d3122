"""Sorts the coins of one hoard after the other by type. All hoards share the network that looks at the coins; as every
hoard has types of its own, each gets a new last layer, whose parameters are trained by the same optimizer at a higher
rate.

ticket: practice
class: host-growth
holder: optimizer param_groups state Adam
cause: optimizer-groups-added
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

PIXELS, WIDTH, BATCH = 20 * 20, 320, 48


class Hoard:
    """The coins of a find: each type has a portrait, and each coin is a worn strike of one of them."""

    def __init__(self):
        self.types = random.randint(1_500, 2_000)
        self.portraits = torch.randn(64, PIXELS)
        self.wear = random.uniform(0.2, 0.8)

    def draw(self, number):
        kinds = torch.randint(self.types, (number,))
        coins = self.portraits[kinds % 64] * (1 + kinds[:, None] / self.types)
        return coins + self.wear * torch.randn(number, PIXELS), kinds


class Sorter:
    def __init__(self):
        self.eye = nn.Sequential(nn.Linear(PIXELS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH))
        self.head = None
        self.optimizer = torch.optim.Adam(self.eye.parameters(), lr=3e-4)

    def open(self, hoard):
        """Gets ready for the types of another hoard."""
        self.head = nn.Linear(WIDTH, hoard.types)  # grows
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 2e-3})  # keeps

    def learn(self, coins, kinds):
        loss = F.cross_entropy(self.head(self.eye(coins)), kinds)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()  # grows
        return loss.item()

    @torch.inference_mode()
    def score(self, coins, kinds):
        return (self.head(self.eye(coins)).argmax(dim=1) == kinds).float().mean().item()


def main():
    torch.set_num_threads(1)
    sorter, hoards = Sorter(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        hoard = Hoard()
        sorter.open(hoard)
        losses = []
        for _ in range(6):
            losses.append(sorter.learn(*hoard.draw(BATCH)))
            time.sleep(random.uniform(0.04, 0.12))
        hoards += 1
        score = sorter.score(*hoard.draw(4 * BATCH))
        print(f"hoard {hoards} ({hoard.types} types): loss {losses[0]:.2f} to {losses[-1]:.2f}, right {score:.3f}",
              flush=True)


if __name__ == "__main__":
    main()
