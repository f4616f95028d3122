"""A museum sorts photographs of fossil teeth with a convolutional network, and the curators want to see why. For each
tooth a heat map is made in the manner of Grad-CAM, averaged over noisy copies of the photograph. The page for a tooth
says where the warmest spot is.

ticket: practice
class: app-leak
holder: _forward_hooks hook Explainer maps slopes
cause: hooks-left
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

KINDS = "shark", "horse", "bear", "ray", "vole"
SIDE, WIDTH, COPIES = 96, 64, 8


def block(inner, outer):
    return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1), nn.GroupNorm(4, outer), nn.ReLU())


class ToothNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(), block(16, 32))
        self.last = nn.Sequential(nn.MaxPool2d(2), block(32, WIDTH))
        self.kind = nn.Linear(WIDTH, len(KINDS))

    def forward(self, photographs):
        return self.kind(self.last(self.first(photographs)).mean(dim=(2, 3)))


class Explainer:
    """Watches the last block of a network and makes heat maps from what goes through it."""

    def __init__(self, model, noise=0.1):
        self.model, self.noise = model, noise
        self.maps, self.slopes = [], []
        self.hook = model.last.register_forward_hook(self.note)  # keeps

    def note(self, module, inputs, output):
        self.maps.append(output.detach())  # keeps
        output.register_hook(self.slopes.append)  # keeps

    def explain(self, photograph):
        copies = photograph + self.noise * torch.randn(COPIES, *photograph.shape, device=photograph.device)
        scores = self.model(copies)  # grows
        kind = scores.mean(dim=0).argmax().item()
        scores[:, kind].sum().backward()  # grows
        self.model.zero_grad(set_to_none=True)
        weights = self.slopes[0].mean(dim=(2, 3), keepdim=True)
        heat = F.relu((weights * self.maps[0]).sum(dim=1)).mean(dim=0)
        return KINDS[kind], heat / heat.max().clamp(min=1e-9)


def tooth(device):
    """A photograph: a bright triangle on a grey ground."""
    rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    top, middle, slope = random.randint(5, 30), random.randint(30, 65), random.uniform(0.2, 0.6)
    inside = (rows > top) & ((columns - middle).abs() < slope * (rows - top))
    return (0.3 + 0.5 * inside.float() + 0.05 * torch.randn(SIDE, SIDE))[None].to(device)


def page(number, kind, heat):
    row, column = divmod(heat.argmax().item(), heat.shape[1])
    return f"tooth {number}: {kind}, warmest at {row / heat.shape[0]:.2f} {column / heat.shape[1]:.2f}"


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    model, number = ToothNet().to(device).eval(), 0
    while time.time() < end:
        explainer = Explainer(model)
        kind, heat = explainer.explain(tooth(device))
        number += 1
        if number % 10 == 0:
            print(page(number, kind, heat), flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
