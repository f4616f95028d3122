"""How well can the melt of a glacier be told from its weather stations? A small network is cross-validated again and
again with another shuffle of the years. The gradients of its weights are penalised, which makes it smoother, and so
each step differentiates twice.

ticket: pytorch/pytorch#4661
class: app-leak
holder: -
cause: reference-cycle uncut-autograd-graph
"""

import os
import statistics
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

YEARS, READINGS, WIDTH = 60, 48, 720
FOLDS, STEPS, PENALTY = 5, 12, 1e-3


class Melt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stations = nn.Linear(READINGS, WIDTH)
        self.weather = nn.Linear(WIDTH, WIDTH)
        self.melt = nn.Linear(WIDTH, 1)

    def forward(self, readings):
        hidden = torch.tanh(self.stations(readings))
        return self.melt(torch.tanh(self.weather(hidden))).squeeze(1)


def glacier(device):
    """The readings of every year and the melt that belongs to them."""
    readings = torch.randn(YEARS, READINGS, device=device)
    melt = torch.sin(readings[:, 0]) + 0.5 * readings[:, 1] * readings[:, 2]
    return readings, melt + 0.1 * torch.randn(YEARS, device=device)


def smooth_step(model, optimizer, readings, melt):
    optimizer.zero_grad(set_to_none=True)
    loss = F.mse_loss(model(readings), melt)
    loss.backward(create_graph=True)  # grows keeps
    penalty = sum(weight.grad.square().sum() for weight in model.parameters())
    (PENALTY * penalty).backward()
    optimizer.step()


def run_fold(readings, melt, fold, device):
    """Train on all the years but those of the fold, and give the error on these."""
    held = torch.arange(YEARS, device=device) % FOLDS == fold
    model = Melt().to(device)  # grows
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for _ in range(STEPS):
        smooth_step(model, optimizer, readings[~held], melt[~held])
        time.sleep(0.02)
    with torch.no_grad():
        return F.mse_loss(model(readings[held]), melt[held]).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    readings, melt = glacier(device)
    errors, done = deque(maxlen=50), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if done % FOLDS == 0:
            order = torch.randperm(YEARS, device=device)
        errors.append(run_fold(readings[order], melt[order], done % FOLDS, device))
        done += 1
        if done % FOLDS == 0:
            print(f"repeat {done // FOLDS}: mean error of late {statistics.mean(errors):.3f}", flush=True)


if __name__ == "__main__":
    main()
