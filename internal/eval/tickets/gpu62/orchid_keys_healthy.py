"""A model learns to key out orchids, one genus after the other. What the genera have in common is learnt by the trunk,
which is trained slowly all the time; each genus gets a fresh head with one output for each of its taxa, which has a
learning rate of its own. After a genus its accuracy is measured, and the next one begins.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

TRAITS, WIDTH, TAXA = 96, 384, 1_600
BATCH, STEPS = 64, 6


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(TRAITS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU())
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, traits):
        return self.norm(self.layers(traits))


class Genus:
    """Plants of one genus: each taxon has its typical traits, and a plant strays from them a little."""

    def __init__(self, number):
        self.number = number
        self.typical = torch.randn(TAXA, TRAITS)

    def plants(self, count):
        taxa = torch.randint(TAXA, (count,))
        return self.typical[taxa] + 0.1 * torch.randn(count, TRAITS), taxa


class Learner:
    def __init__(self, device):
        self.device = device
        self.trunk = Trunk().to(device)
        self.head = None
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=1e-4)

    def begin(self, genus):
        if self.head is not None:
            for weight in self.optimizer.param_groups.pop()["params"]:
                self.optimizer.state.pop(weight, None)
        self.head = nn.Linear(WIDTH, TAXA).to(self.device)
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 3e-3})

    def step(self, traits, taxa):
        loss = F.cross_entropy(self.head(self.trunk(traits)), taxa)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def accuracy(self, traits, taxa):
        return (self.head(self.trunk(traits)).argmax(1) == taxa).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    learner, number = Learner(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        genus = Genus(number)
        learner.begin(genus)
        for _ in range(STEPS):
            traits, taxa = genus.plants(BATCH)
            loss = learner.step(traits.to(device), taxa.to(device))
            time.sleep(random.uniform(0.04, 0.1))
        traits, taxa = genus.plants(4 * BATCH)
        accuracy = learner.accuracy(traits.to(device), taxa.to(device))
        if number % 4 == 0:
            print(f"genus {number}: loss {loss:.3f}, accuracy {accuracy:.3f}", flush=True)
        number += 1


if __name__ == "__main__":
    main()
