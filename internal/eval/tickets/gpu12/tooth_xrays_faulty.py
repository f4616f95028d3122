"""Dentists send X-rays, and get back which teeth look ill and where on the picture the network saw it (Grad-CAM: the
last maps, weighed by how much the mark of the illness depends on each). Whoever asks for an explanation makes a GradCam
on the model, which hooks itself into the layer it wants to look at; it is not unhooked when the explanation is given.

ticket: practice
class: app-leak
holder: maps _forward_hooks GradCam
cause: hooks-left
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, ILLS = 128, ("caries", "root", "bone loss", "cyst")


def block(before, after, stride):
    return nn.Sequential(nn.Conv2d(before, after, 3, stride, 1), nn.GroupNorm(4, after), nn.ReLU())


class ToothNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = block(1, 16, 2)
        self.layers = nn.ModuleList([block(16, 32, 2), block(32, 128, 1)])
        self.head = nn.Linear(128, len(ILLS))

    def forward(self, pictures):
        found = self.stem(pictures)
        for layer in self.layers:
            found = layer(found)  # grows
        return self.head(found.mean((2, 3)))


class GradCam:
    """Where a layer looks when the model gives its mark."""

    def __init__(self, model, layer):
        self.model = model
        self.maps = []
        layer.register_forward_hook(self.remember)  # keeps

    def remember(self, layer, inputs, output):
        output.retain_grad()
        self.maps.append(output)  # keeps

    def explain(self, picture, ill=None):
        marks = self.model(picture)
        ill = int(marks.argmax()) if ill is None else ill
        self.model.zero_grad()
        marks[0, ill].backward()
        maps = self.maps[-1]
        weights = maps.grad.mean((2, 3), keepdim=True)
        heat = F.relu((weights * maps.detach()).sum(1, keepdim=True))
        return ill, F.interpolate(heat / heat.max().clamp(min=1e-6), picture.shape[2:], mode="bilinear",
                                  align_corners=False)[0, 0]


def xray(device):
    """A row of bright teeth on a dark ground, one with a spot."""
    line = torch.linspace(-1, 1, SIDE, device=device)
    teeth = torch.sigmoid(8 * torch.cos(random.randint(9, 14) * line))[None, :] * torch.exp(-3 * line[:, None] ** 2)
    across, along = random.uniform(-0.8, 0.8), random.uniform(-0.4, 0.4)
    spot = torch.exp(-((line[None, :] - across) ** 2 + (line[:, None] - along) ** 2) / 0.01)
    return (teeth - 0.7 * spot + 0.05 * torch.randn(SIDE, SIDE, device=device))[None, None]


class Practice:
    def __init__(self, device):
        self.device, self.model = device, ToothNet().to(device).eval()
        self.counts = dict.fromkeys(ILLS, 0)

    def request(self):
        picture = xray(self.device)
        cam = GradCam(self.model, self.model.layers[-1])
        ill, heat = cam.explain(picture)
        self.counts[ILLS[ill]] += 1
        row, column = divmod(int(heat.argmax()), SIDE)
        return ILLS[ill], row, column


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    practice = Practice("cuda" if torch.cuda.is_available() else "cpu")
    end, served = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        for _ in range(random.choice((1, 1, 2, 3))):
            ill, row, column = practice.request()
            served += 1
        if served % 10 == 0:
            print("picture", served, ill, "at", (row, column), practice.counts, flush=True)
        time.sleep(random.uniform(0.15, 0.45))


if __name__ == "__main__":
    main()
