"""Learns by contrast to tell sea shells apart without labels. Two views of each shell are made on the device: they are
turned, zoomed and given other colours, and the network must find the two that belong together. The sampling fields
of the last turns are cached.

ticket: practice
class: none
"""

import math
import os
import random
import time
from functools import lru_cache

import torch
from torch import nn
from torch.nn import functional as F

SIDE, BATCH, TEMPERATURE = 144, 8, 0.2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        widths = 3, 16, 32, 64
        layers = []
        for before, after in zip(widths, widths[1:]):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, views):
        return F.normalize(self.head(self.body(views)), dim=1)


@lru_cache(maxsize=64)
def field(angle, zoom, device):
    """Where each pixel of a picture that is turned and zoomed comes from."""
    cos, sin = zoom * math.cos(angle), zoom * math.sin(angle)
    turn = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]], device=device)
    return F.affine_grid(turn, (1, 3, SIDE, SIDE), align_corners=False)


def view(shells):
    """Each shell under its own turn, zoom and colour."""
    device = shells.device.type
    fields = [field(random.uniform(-math.pi, math.pi), random.uniform(0.7, 1.2), device) for _ in shells]
    turned = F.grid_sample(shells, torch.cat(fields), padding_mode="border", align_corners=False)
    colours = 0.6 + 0.8 * torch.rand(len(shells), 3, 1, 1, device=device)
    return (turned * colours).clamp(0, 1)


def collect(device):
    """Shells with spirals that differ in their arms and their pitch."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    arms = torch.randint(1, 6, (BATCH, 1, 1))
    pitch = 4 + 12 * torch.rand(BATCH, 1, 1)
    spiral = 0.5 + 0.5 * torch.sin(arms * torch.atan2(y, x) + pitch * torch.sqrt(x * x + y * y))
    return (spiral.unsqueeze(1) * torch.rand(BATCH, 3, 1, 1)).to(device)


def contrast(first, second):
    likeness = first @ second.T / TEMPERATURE
    own = torch.arange(len(first), device=first.device)
    return (F.cross_entropy(likeness, own) + F.cross_entropy(likeness.T, own)) / 2


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Encoder().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        shells = collect(device)
        loss = contrast(model(view(shells)), model(view(shells)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 15 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
