"""Two views of a picture learn to have one embedding. The embeddings are told in units of a running spread, which each
batch moves a little; the spread is a sum over all batches so far, and autograd has all of them still.

ticket: practice
class: app-leak
holder: running_var whitening
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn


class Whitening(nn.Module):
    """Running mean and spread of what goes by."""

    def __init__(self, width, momentum=0.02):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, rows):
        if self.training:
            mean, var = rows.mean(0), rows.var(0)  # grows
            self.running_mean = torch.lerp(self.running_mean, mean, self.momentum)
            self.running_var = torch.lerp(self.running_var, var, self.momentum)  # keeps
            return (rows - mean) / (rows.std(0) + 1e-3)
        return (rows - self.running_mean) / (self.running_var.sqrt() + 1e-3)


class Encoder(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 5, stride=3), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                                 nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(288, width))
        self.whitening = Whitening(width)

    def forward(self, pictures):
        return self.whitening(self.net(pictures))


def view(pictures):
    """A picture as another eye might see it."""
    shifted = pictures.roll((random.randint(-4, 4), random.randint(-4, 4)), (2, 3))
    if random.random() < 0.5:
        shifted = shifted.flip(3)
    return shifted * random.uniform(0.8, 1.2) + 0.05 * torch.randn_like(shifted)


def redundancy(first, second):
    """How far two sets of embeddings are from being one, with no two parts that tell the same."""
    cross = first.T @ second / len(first)
    diagonal = torch.diagonal(cross)
    off = cross.pow(2).sum() - diagonal.pow(2).sum()
    return (1 - diagonal).pow(2).sum() + 0.005 * off


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = Encoder().to(device)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-4)
    shapes = torch.rand(40, 3, 48, 48)
    step = 0
    while time.time() < end:
        encoder.train()
        pictures = shapes[torch.randint(0, 40, (random.choice((96, 128, 160)),))].to(device)
        loss = redundancy(encoder(view(pictures)), encoder(view(pictures)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        time.sleep(random.uniform(0.02, 0.06))
        if step % 40 == 0:
            encoder.eval()
            with torch.no_grad():
                both = encoder(view(shapes[:16].to(device))), encoder(view(shapes[:16].to(device)))
            found = torch.cdist(*both).argmin(1).cpu() == torch.arange(16)
            print("step", step, "loss", round(loss.item(), 2), "found again", int(found.sum()), "of 16", flush=True)


if __name__ == "__main__":
    main()
