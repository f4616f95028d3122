"""A droplet of argon moves in a learned pair potential. The energy is a small network over the distances of all pairs
on top of a Lennard-Jones core, and the forces are its gradient. While the droplet moves, the potential goes on
learning: every tenth step it is matched to the reference forces of a shaken frame.

ticket: practice
class: app-leak
holder: positions velocities forces grad_fn next_functions
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn

EDGE, SPACING, STEP, TEMPERATURE = 5, 1.15, 0.002, 0.4


def lattice(device):
    axis = torch.arange(EDGE, dtype=torch.float32, device=device) * SPACING
    return torch.cartesian_prod(axis, axis, axis)


def core(distance):
    """The Lennard-Jones energy of each pair."""
    inverse = distance.clamp(min=0.85) ** -6
    return 4 * (inverse * inverse - inverse)


class PairPotential(nn.Module):
    def __init__(self, atoms):
        super().__init__()
        self.register_buffer("pairs", torch.triu_indices(atoms, atoms, 1))
        self.register_buffer("centers", torch.linspace(0.9, 4.0, 16))
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, positions):
        first, second = self.pairs
        distance = (positions[first] - positions[second]).square().sum(-1).sqrt()  # grows
        features = torch.exp(-4 * (distance[:, None] - self.centers) ** 2)  # grows
        learned = self.layers(features).squeeze(-1)  # grows
        return (core(distance) + 0.05 * learned).sum()


def forces_of(potential, positions):
    """The forces on all atoms, through which the loss of the matching can go."""
    positions.requires_grad_()
    energy = potential(positions)
    return -torch.autograd.grad(energy, positions, create_graph=True)[0]  # grows


def match(potential, optimizer, frame):
    """One step towards the reference forces of this frame."""
    wanted = frame.clone().requires_grad_()
    first, second = potential.pairs
    distance = (wanted[first] - wanted[second]).square().sum(-1).sqrt()
    energy = (core(distance) * (1 - 0.1 * torch.exp(-distance))).sum()
    reference = -torch.autograd.grad(energy, wanted)[0]
    loss = (forces_of(potential, frame.clone()) - reference).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


def move(potential, positions, velocities):
    """One step of the motion with a gentle thermostat."""
    velocities = velocities + STEP * forces_of(potential, positions).clamp(-200, 200)
    warmth = velocities.detach().square().mean().item()
    velocities = velocities * (1 + 0.02 * (TEMPERATURE / max(warmth, 1e-6) - 1)) ** 0.5
    return positions + STEP * velocities, velocities


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rest = lattice(device)
    potential = PairPotential(len(rest)).to(device)
    optimizer = torch.optim.Adam(potential.parameters(), lr=1e-3)
    positions, velocities = rest.clone(), TEMPERATURE ** 0.5 * torch.randn_like(rest)
    steps, loss = 0, float("nan")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        positions, velocities = move(potential, positions, velocities)  # keeps
        steps += 1
        if steps % 10 == 0:
            loss = match(potential, optimizer, rest + 0.05 * torch.randn_like(rest))
        if steps % 15 == 0:
            radius = (positions - positions.mean(0)).norm(dim=1).mean().item()
            print(f"step {steps}: radius {radius:.3f}, loss of the forces {loss:.3f}", flush=True)
        time.sleep(random.uniform(0.2, 0.35))


if __name__ == "__main__":
    main()
