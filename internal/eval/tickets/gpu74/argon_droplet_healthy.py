"""A droplet of argon is cooled step by step. A small neural potential gives the forces; at each temperature the droplet
runs for a few time steps, and the spread of the hidden features in that stretch tells how far the potential may be
trusted. A probe is put on the hidden layer for a stretch, and is read and taken off at its end.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

ATOMS, HIDDEN, SHELLS = 400, 512, 12
STRETCH, STEP = 5, 0.004


class Potential(nn.Module):
    """Radial shells around each atom, one hidden layer, and an energy for each atom."""

    def __init__(self):
        super().__init__()
        self.register_buffer("radii", torch.linspace(0.8, 3.5, SHELLS))
        self.hidden = nn.Sequential(nn.Linear(SHELLS, HIDDEN), nn.Tanh())
        self.energy = nn.Linear(HIDDEN, 1)
        self.requires_grad_(False)

    def forward(self, places):
        gaps = places.unsqueeze(0) - places.unsqueeze(1)
        distances = (gaps.square().sum(-1) + 1e-6).sqrt()
        shells = torch.exp(-4 * (distances.unsqueeze(-1) - self.radii).square()).sum(1)
        features = self.hidden(shells / SHELLS)
        core = torch.exp(-6 * (distances - 0.9)).triu(1).sum()
        return self.energy(features).sum() + core + 0.02 * places.square().sum()


class Probe:
    """The running sums of what goes through a layer, from which its spread follows."""

    def __init__(self, device):
        self.count = 0
        self.total = torch.zeros(ATOMS, HIDDEN, device=device)
        self.squares = torch.zeros(ATOMS, HIDDEN, device=device)

    def __call__(self, layer, inputs, features):
        features = features.detach()
        self.count += 1
        self.total += features
        self.squares.addcmul_(features, features)

    def spread(self):
        mean = self.total / self.count
        return (self.squares / self.count - mean.square()).clamp_min(0).mean().sqrt().item()


class Droplet:
    def __init__(self, device):
        self.model = Potential().to(device)
        self.device = device
        self.places = 2.5 * torch.randn(ATOMS, 3, device=device)
        self.speeds = torch.randn(ATOMS, 3, device=device)

    def forces(self):
        places = self.places.detach().requires_grad_(True)
        energy = self.model(places)
        return -torch.autograd.grad(energy, places)[0], energy.item()

    def stretch(self, temperature):
        """A few steps of Langevin dynamics. It returns the last energy and the spread of the features."""
        probe = Probe(self.device)
        hook = self.model.hidden.register_forward_hook(probe)
        for _ in range(STRETCH):
            forces, energy = self.forces()
            kick = (2 * temperature * STEP) ** 0.5 * torch.randn_like(self.speeds)
            self.speeds = (1 - STEP) * self.speeds + STEP * forces.clamp(-50, 50) + kick
            self.places = self.places + STEP * self.speeds
        hook.remove()
        return energy, probe.spread()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    droplet, temperature, count = Droplet(device), 1.0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        energy, spread = droplet.stretch(temperature)
        temperature *= 0.995
        count += 1
        if count % 10 == 0:
            print(f"T {temperature:.3f}: energy {energy:.2f}, spread of features {spread:.5f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
