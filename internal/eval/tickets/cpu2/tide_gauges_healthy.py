"""A small network forecasts the tide at a row of gauges, and it learns from the newest days for as long as it runs.
After every fourth step it is tried on days that it has not seen. The error of the trial goes into a smoothed one;
the learning rate is cut when the smoothed error has not become smaller for a while.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

GAUGES, HOURS, AHEAD, CHANNELS = 8, 240, 6, 32


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.near = nn.Conv1d(GAUGES, CHANNELS, 5, padding=2)
        self.far = nn.Conv1d(CHANNELS, CHANNELS, 5, padding=8, dilation=4)
        self.head = nn.Conv1d(CHANNELS, GAUGES, 1)

    def forward(self, levels):
        hidden = F.gelu(self.near(levels))
        hidden = F.gelu(self.far(hidden))
        return self.head(hidden)


class Watch:
    """Smooths the error of the trials and says when it has come to rest."""

    def __init__(self, keep=0.9, patience=12):
        self.keep, self.patience = keep, patience
        self.smoothed, self.best, self.since = None, math.inf, 0

    def add(self, error):
        if self.smoothed is None:
            self.smoothed = error
        else:
            self.smoothed = self.keep * self.smoothed + (1 - self.keep) * error

    def rested(self):
        if self.smoothed < self.best:
            self.best, self.since = self.smoothed, 0
            return False
        self.since += 1
        return self.since % self.patience == 0


def days(count):
    """Levels at the gauges, and the levels some hours later."""
    hours = torch.arange(HOURS + AHEAD) + torch.randint(9_000, (count, GAUGES, 1))
    moon, sun = torch.sin(hours * (2 * math.pi / 12.42)), torch.sin(hours * (2 * math.pi / 12))
    levels = moon + 0.4 * sun + 0.05 * torch.randn(count, GAUGES, HOURS + AHEAD)
    return levels[..., :HOURS], levels[..., AHEAD:]


def learn(model, optimizer):
    model.train()
    levels, later = days(16)
    loss = F.huber_loss(model(levels), later)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def trial(model):
    model.eval()
    levels, later = days(24)
    return F.huber_loss(model(levels), later).item()


def main():
    torch.set_num_threads(1)
    model, watch, steps = Forecaster(), Watch(), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        learn(model, optimizer)
        steps += 1
        if steps % 4 == 0:
            watch.add(trial(model))
            if watch.rested():
                for group in optimizer.param_groups:
                    group["lr"] *= 0.7
        if steps % 20 == 0:
            rate = optimizer.param_groups[0]["lr"]
            print(f"step {steps}: error {watch.smoothed:.4f}, rate {rate:.1e}", flush=True)
        time.sleep(random.uniform(0.02, 0.1))


if __name__ == "__main__":
    main()
