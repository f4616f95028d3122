"""A sorting machine tells whole tea leaves from broken ones and stalks by small pictures of each. It goes on learning
while it sorts, from what the tasters say. Its layers are normalised by a batch norm written by hand, to have the
running mean and variance as plain tensors that are easy to look at; they are kept without how they came about.

ticket: pytorch/pytorch#20275
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, KINDS, BATCH, CHANNELS, DEEP = 12, 3, 16, 12, 8


class HandNorm(nn.Module):
    def __init__(self, channels, momentum=0.1, eps=1e-5):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if self.training:
            mean = x.mean([0, 2, 3])
            var = x.var([0, 2, 3], unbiased=False)
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(var, self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        x = (x - mean[:, None, None]) / (var[:, None, None] + self.eps).sqrt()
        return x * self.weight[:, None, None] + self.bias[:, None, None]


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, CHANNELS, 3, 2, 1), HandNorm(CHANNELS), nn.ReLU()]
        for _ in range(DEEP):
            layers += [nn.Conv2d(CHANNELS, CHANNELS, 3, 1, 1), HandNorm(CHANNELS), nn.ReLU()]
        self.layers, self.say = nn.Sequential(*layers), nn.Linear(CHANNELS, KINDS)

    def forward(self, leaves):
        return self.say(self.layers(leaves).mean([2, 3]))


class Belt:
    """Leaves on the belt, and what the tasters call them."""

    def __init__(self, device):
        line = torch.linspace(-1, 1, SIDE, device=device)
        self.rows, self.columns = torch.meshgrid(line, line, indexing="ij")
        self.device = device

    def leaves(self):
        kinds = torch.randint(KINDS, (BATCH,), device=self.device)
        long = torch.tensor([0.8, 0.4, 0.9], device=self.device)[kinds][:, None, None]
        wide = torch.tensor([0.5, 0.4, 0.15], device=self.device)[kinds][:, None, None]
        leaf = ((self.rows / long) ** 2 + (self.columns / wide) ** 2 < 1).float()
        green = torch.rand(BATCH, 3, 1, 1, device=self.device)
        return leaf[:, None] * green + 0.2 * torch.randn(BATCH, 3, SIDE, SIDE, device=self.device), kinds


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    belt, sorter, step, sliding = Belt(device), Sorter().to(device), 0, 0.0
    optimizer = torch.optim.SGD(sorter.parameters(), 0.02, momentum=0.9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        leaves, kinds = belt.leaves()
        loss = F.cross_entropy(sorter(leaves), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 200 == 0:
            sorter.eval()
            with torch.no_grad():
                leaves, kinds = belt.leaves()
                right = float((sorter(leaves).argmax(-1) == kinds).float().mean())
            sorter.train()
            sliding = 0.8 * sliding + 0.2 * right
            print("step", step, "loss", round(loss.item(), 3), "right", round(sliding, 3), flush=True)
        if step % 10 == 0:
            time.sleep(random.uniform(0.02, 0.1))


if __name__ == "__main__":
    main()
