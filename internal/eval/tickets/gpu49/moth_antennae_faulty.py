"""Learns a common start for models of moth antennae, one small network for each odour. In each episode a learner is
copied from the start, fits the support readings of one odour, and the start moves towards it (Reptile). How sharp the
learner's minimum is (Hutchinson's estimate of the Hessian's trace) decides how far it moves.

ticket: pytorch/pytorch#4661
class: app-leak
holder: -
cause: reference-cycle
"""

import copy
import math
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

ODOURS, FEATURES, WIDTH = 40, 64, 512
INNER_STEPS, READINGS = 5, 128


class Antenna(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(),
                                    nn.Linear(WIDTH, 1))

    def forward(self, puffs):
        return self.layers(puffs).squeeze(-1)


class Odour:
    """Answers of one antenna to puffs of one odour."""

    def __init__(self, device):
        self.direction = torch.randn(FEATURES, device=device) / math.sqrt(FEATURES)
        self.phase = random.uniform(0, math.pi)

    def readings(self):
        puffs = torch.randn(READINGS, FEATURES, device=self.direction.device)
        return puffs, torch.sin(3 * puffs @ self.direction + self.phase)


def adapt(start, odour):
    """Fits a copy of the start to the support readings."""
    learner = copy.deepcopy(start)  # grows
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.05)
    for _ in range(INNER_STEPS):
        puffs, answers = odour.readings()
        optimizer.zero_grad(set_to_none=True)
        F.mse_loss(learner(puffs), answers).backward()
        optimizer.step()
    return learner


def sharpness(learner, odour):
    """The trace of the Hessian on query readings, and the loss there."""
    puffs, answers = odour.readings()
    learner.zero_grad(set_to_none=True)
    loss = F.mse_loss(learner(puffs), answers)
    loss.backward(create_graph=True)  # grows keeps
    weights = list(learner.parameters())
    grads = [weight.grad for weight in weights]
    signs = [torch.randint_like(weight, 2) * 2 - 1 for weight in weights]
    products = torch.autograd.grad(grads, weights, grad_outputs=signs)
    trace = sum((product * sign).sum() for product, sign in zip(products, signs))
    return trace.item(), loss.item()


@torch.no_grad()
def move(start, learner, rate):
    for weight, fitted in zip(start.parameters(), learner.parameters()):
        weight.lerp_(fitted, rate)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    start, odours = Antenna().to(device), [Odour(device) for _ in range(ODOURS)]
    episodes, mean_loss = 0, 1.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        odour = random.choice(odours)
        learner = adapt(start, odour)
        trace, loss = sharpness(learner, odour)
        move(start, learner, 0.3 / (1 + 0.01 * abs(trace)))
        mean_loss = 0.95 * mean_loss + 0.05 * loss
        episodes += 1
        if episodes % 20 == 0:
            print(f"episode {episodes}: query loss {mean_loss:.3f}, trace {trace:.1f}", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
