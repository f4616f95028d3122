"""Tells the tetras of a large aquarium apart by their looks.

A camera watches a window of the tank. Each fish that swims into the window gets a template, a small block of features
that is fitted on the fly: a shared painter turns templates into crops, and templates and painter are trained together
so that the painted crops match those of the camera. Fish stay in the window for a few seconds; then the next ones
come. (The crops are made up here: stripes whose colour and pitch belong to the fish.)

    ticket: practice
    class: none
"""
import os
import random
import time
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
FEATURES = 64
CROP = 64
IN_VIEW = 6
FRAMES_PER_SECOND = 8


class Painter(nn.Module):
    """From a template to a crop in three colours."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2d(FEATURES, 16, kernel_size=1)
        self.paint = nn.Conv2d(16, 3, kernel_size=3, padding=1)

    def forward(self, templates):
        return torch.sigmoid(self.paint(F.gelu(self.mix(templates))))


@dataclass
class Tetra:
    name: int
    leaves: int
    pitch: float
    colour: torch.Tensor
    template: nn.Parameter = field(repr=False)

    def crop(self, frame):
        across = torch.arange(CROP, device=device, dtype=torch.float32)
        stripes = 0.5 + 0.5 * torch.sin(across * self.pitch + 0.2 * frame)
        return self.colour[:, None, None] * stripes[None, None, :].expand(3, CROP, CROP)


class Window:
    """What the camera sees: the fish in view and their coming and going."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.fish = {}
        self.arrivals = 0

    def arrive(self, frame):
        self.arrivals += 1
        template = nn.Parameter(0.1 * torch.randn(FEATURES, CROP, CROP, device=device))
        tetra = Tetra(name=self.arrivals, leaves=frame + self.dice.randint(10, 24), pitch=self.dice.uniform(0.2, 1.2),
                      colour=torch.rand(3, device=device), template=template)
        self.fish[tetra.name] = tetra
        return tetra

    def depart(self, frame):
        gone = [tetra for tetra in self.fish.values() if tetra.leaves <= frame]
        for tetra in gone:
            del self.fish[tetra.name]
        return gone


class Fitter:
    def __init__(self):
        self.painter = Painter().to(device)
        self.optimizer = torch.optim.Adam(self.painter.parameters(), lr=2e-3)

    def welcome(self, tetra):
        self.optimizer.add_param_group({"params": [tetra.template], "lr": 2e-2})

    def farewell(self, tetra):
        groups = self.optimizer.param_groups
        groups[:] = [group for group in groups if group["params"][0] is not tetra.template]
        self.optimizer.state.pop(tetra.template, None)
        with torch.no_grad():
            return float(tetra.template.norm())

    def fit(self, shoal, frame):
        self.optimizer.zero_grad(set_to_none=True)
        seen = torch.stack([tetra.crop(frame) for tetra in shoal])
        painted = self.painter(torch.stack([tetra.template for tetra in shoal]))
        loss = F.mse_loss(painted, seen)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def frames(end):
    number = 0
    while time.time() < end:
        due = time.time() + 1.0 / FRAMES_PER_SECOND
        yield number
        number += 1
        time.sleep(max(0.0, due - time.time()))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    window, fitter = Window(seed=31), Fitter()
    norm = 0.0
    for frame in frames(end):
        for tetra in window.depart(frame):
            norm = fitter.farewell(tetra)
        while len(window.fish) < IN_VIEW:
            fitter.welcome(window.arrive(frame))
        loss = fitter.fit(list(window.fish.values()), frame)
        if frame % 24 == 23:
            print(f"frame {frame}: loss {loss:.4f}, {window.arrivals} fish so far, last norm {norm:.1f}", flush=True)


if __name__ == "__main__":
    main()
