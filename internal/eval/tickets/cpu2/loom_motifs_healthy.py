"""A weaving mill names the motifs on its cloth. The trunk of the network stays for good, while each collection has
motifs of its own: when a new one comes in, the network gets a fresh head for it, and an optimizer is made for the
trunk and the head.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, WIDTH, BATCH = 32, 512, 16
SWATCHES = 8  # batches of each collection


class Namer(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
        )
        self.head = None

    def renew(self, motifs):
        """Puts a head for so many motifs on the trunk and returns it."""
        self.head = nn.Sequential(nn.Linear(512, WIDTH), nn.ReLU(), nn.Linear(WIDTH, motifs))
        return self.head

    def forward(self, cloth):
        return self.head(self.trunk(cloth))


class Mill:
    """Collections of cloth, in which each motif is a pattern of threads with some noise on it."""

    def collection(self):
        return torch.rand(random.choice((120, 160, 200)), 3, SIDE, SIDE)

    def swatch(self, motifs):
        names = torch.randint(len(motifs), (BATCH,))
        return motifs[names] + 0.2 * torch.randn(BATCH, 3, SIDE, SIDE), names


def learn(model, optimizer, cloth, names):
    loss = F.cross_entropy(model(cloth), names)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    model, mill, collections = Namer(), Mill(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        motifs = mill.collection()
        head = model.renew(len(motifs))
        groups = [{"params": model.trunk.parameters()}, {"params": head.parameters(), "lr": 3e-3}]
        optimizer = torch.optim.AdamW(groups, lr=1e-3)
        losses = []
        for _ in range(SWATCHES):
            losses.append(learn(model, optimizer, *mill.swatch(motifs)))
            time.sleep(random.uniform(0.02, 0.07))
        collections += 1
        if collections % 5 == 0:
            print(f"collection {collections}: {len(motifs)} motifs, loss {losses[-1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
