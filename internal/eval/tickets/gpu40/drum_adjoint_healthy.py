"""The tension of a drum skin is estimated from how it rings, by the adjoint method. Each blow runs the wave equation
forwards and puts checkpoints of it into pinned host memory; the backward sweep takes them from there, recomputes the
steps in between and correlates them with the adjoint wave. The misfit is printed.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch.nn import functional as F

SIDE, STEPS, EVERY = 640, 32, 8
DROP, DAMP = 0.2, 0.999


class Checkpoints:
    """Wave states on the host, by blow and step (a state is the skin now and a step before)."""

    def __init__(self, device):
        self.device = device
        self.saved = {}

    def put(self, blow, step, state):
        host = torch.empty(state.shape, pin_memory=self.device == "cuda")
        host.copy_(state, non_blocking=True)
        self.saved[blow, step] = host

    def take(self, blow, step):
        return self.saved.pop((blow, step)).to(self.device, non_blocking=True)


class Drum:
    def __init__(self, device):
        kernel = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])
        self.kernel = kernel[None, None].to(device)

    def bend(self, skin):
        return F.conv2d(skin[None, None], self.kernel, padding=1)[0, 0]

    def step(self, state, tension):
        now, before = state
        after = now + DAMP * (now - before) + DROP * tension * self.bend(now)
        return torch.stack((after, now))


def strike(device):
    """The skin at rest, but for a bump where the stick hits it."""
    line = torch.arange(SIDE, device=device)
    row, column = random.randint(100, SIDE - 100), random.randint(100, SIDE - 100)
    bump = torch.exp(-((line[:, None] - row) ** 2 + (line[None, :] - column) ** 2) / 300.0)
    return torch.stack((bump, bump))


def sweep(drum, tension, truth, checkpoints, blow, device):
    """The misfit of a blow and its gradient by the tension."""
    state = heard = strike(device)
    for step in range(STEPS):
        if step % EVERY == 0:
            checkpoints.put(blow, step, state)
        state, heard = drum.step(state, tension), drum.step(heard, truth)
    residual = state[0] - heard[0]
    adjoint, gradient = torch.stack((residual, residual)), torch.zeros_like(residual)
    for start in reversed(range(0, STEPS, EVERY)):
        states = [checkpoints.take(blow, start)]
        for _ in range(EVERY - 1):
            states.append(drum.step(states[-1], tension))
        for earlier in reversed(states):
            gradient += DROP * drum.bend(earlier[0]) * adjoint[0]
            adjoint = drum.step(adjoint, tension)
    return residual.square().sum().item(), gradient


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    drum, checkpoints, blow = Drum(device), Checkpoints(device), 0
    truth = 1.0 + 0.2 * torch.linspace(-1.0, 1.0, SIDE, device=device).expand(SIDE, SIDE)
    tension = torch.ones(SIDE, SIDE, device=device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        misfit, gradient = sweep(drum, tension, truth, checkpoints, blow, device)
        tension = (tension - 0.02 * gradient / gradient.abs().max().clamp(min=1e-9)).clamp(0.5, 1.5)
        blow += 1
        if blow % 5 == 0:
            print(f"blow {blow}: misfit {misfit:.4f}, tension {tension.mean().item():.4f}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
