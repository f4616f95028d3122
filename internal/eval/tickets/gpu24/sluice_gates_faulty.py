"""Forecasts the water level behind sluice gates. A stack of dilated convolutions learns from the past days' gauges.
After every fourth step it is tried on days that it has not seen, and what it gets wrong there goes into a moving
average, by which the learning rate falls when things get no better.

ticket: practice
class: app-leak
holder: smoothed mean error
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

GATES, HOURS, AHEAD, WIDTH = 12, 336, 24, 32


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(GATES, WIDTH, 1)
        self.layers = nn.ModuleList(
            nn.Conv1d(WIDTH, WIDTH, 3, dilation=reach, padding=reach) for reach in (1, 4, 16)
        )
        self.last = nn.Linear(WIDTH, GATES * AHEAD)

    def forward(self, levels):
        hidden = self.first(levels)
        for layer in self.layers:
            hidden = hidden + F.gelu(layer(hidden))
        return self.last(hidden.mean(dim=2)).view(-1, GATES, AHEAD)


def stretch(count, device):
    """Levels of some stretches of days: tides, rain and what the gates do, and the hours that follow."""
    hours = torch.arange(HOURS + AHEAD, device=device)
    phase = 6.28 * torch.rand(count, GATES, 1, device=device)
    levels = torch.sin(hours / 1.98 + phase) + 0.3 * torch.randn(count, GATES, HOURS + AHEAD, device=device)
    return levels[:, :, :HOURS], levels[:, :, HOURS:]


def smoothed(weight):
    """A moving average: send it a value, and it gives the mean so far."""
    mean = yield
    while True:
        value = yield mean
        mean = weight * mean + (1 - weight) * value  # keeps


def train_step(model, optimizer, device):
    past, future = stretch(16, device)
    loss = F.mse_loss(model(past), future)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def validate(model, device):
    """How far off the forecasts are on days that were held back."""
    model.eval()
    past, future = stretch(24, device)  # grows
    error = F.l1_loss(model(past), future)  # grows
    model.train()
    return error


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Forecaster().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.7, patience=20, min_lr=1e-4)
    error, step = smoothed(0.95), 0
    next(error)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        train_step(model, optimizer, device)
        step += 1
        if step % 4 == 0:
            now = error.send(validate(model, device))
            plateau.step(now)
            if step % 40 == 0:
                print(f"step {step}: off by {now:.3f}, rate {optimizer.param_groups[0]['lr']:.4f}", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
