"""Finds the joints of sloths in pictures of a forest camera: a small network is trained that gives a heatmap for each
joint. Where a joint is on the whole (sloths hang) is followed as a running mean of the heatmaps, and the validation
multiplies the heatmaps of new pictures with it.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

JOINTS, SIDE, BATCH = 14, 56, 8


class JointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(),
            nn.Conv2d(48, JOINTS, 3, padding=1))

    def forward(self, pictures):
        """The logits over the places, for each joint."""
        return self.body(pictures).flatten(2)


class HangingPrior:
    """Running mean of where each joint is."""

    def __init__(self, device, keep=0.95):
        self.keep = keep
        self.field = torch.full((JOINTS, SIDE * SIDE), 1 / SIDE ** 2, device=device)

    def follow(self, heatmaps):
        self.field = self.keep * self.field + (1 - self.keep) * heatmaps.detach().mean(0)

    def sharpen(self, heatmaps):
        product = heatmaps * self.field
        return product / product.sum(-1, keepdim=True).clamp(min=1e-12)


def pictures(device):
    """Pictures of 112 x 112 with a bright dot at each joint, most of them in the upper half."""
    rows = (torch.randn(BATCH, JOINTS) * 6 + 20).clamp(1, SIDE - 2).long()
    columns = (torch.randn(BATCH, JOINTS) * 9 + 28).clamp(1, SIDE - 2).long()
    places = rows * SIDE + columns
    canvas = 0.2 * torch.rand(BATCH, 3, 2 * SIDE, 2 * SIDE)
    for joint in range(JOINTS):
        for one in range(BATCH):
            row, column = 2 * rows[one, joint], 2 * columns[one, joint]
            canvas[one, joint % 3, row:row + 2, column:column + 2] = 0.5 + joint / 28
    return canvas.to(device), places.to(device)


def train_step(model, optimizer, prior, device):
    canvas, places = pictures(device)
    logits = model(canvas)
    loss = F.cross_entropy(logits.reshape(BATCH * JOINTS, -1), places.flatten())
    heatmaps = logits.softmax(-1)
    prior.follow(heatmaps)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model, prior, device):
    """Share of the joints that are found to within three pixels."""
    canvas, places = pictures(device)
    best = prior.sharpen(model(canvas).softmax(-1)).argmax(-1)
    near = ((best // SIDE - places // SIDE).abs() <= 3) & ((best % SIDE - places % SIDE).abs() <= 3)
    return near.float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, prior = JointNet().to(device), HangingPrior(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        loss = train_step(model, optimizer, prior, device)
        step += 1
        if step % 12 == 0:
            print(f"step {step}: loss {loss:.2f}, found {validate(model, prior, device):.2f}", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
