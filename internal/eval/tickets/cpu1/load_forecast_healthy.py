"""A forecast of a town's power load is trained on readings as they come, and watched: every batch that comes is first
forecast by the model as it stands, and the monitor tells the mean error so far. The monitor adds up plain numbers.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch
from torch import nn

PAST, AHEAD, WIDTH = 96, 24, 256


class Meters:
    """Hourly load of households: a day's rhythm, a week's rhythm, and chance."""

    def __init__(self):
        self.hour = 0

    def read(self, households):
        self.hour += 1
        hours = self.hour + torch.arange(PAST + AHEAD, dtype=torch.float32)
        phase = torch.rand(households, 1) * 2
        day = torch.sin(2 * math.pi * hours / 24 + phase)
        week = 0.4 * torch.sin(2 * math.pi * hours / 168 + phase)
        load = 1.5 + day + week + 0.15 * torch.randn(households, PAST + AHEAD)
        return load[:, :PAST].contiguous(), load[:, PAST:].contiguous()


class Monitor:
    """How far off the forecasts were, over all batches."""

    def __init__(self):
        self.total, self.count, self.worst = 0.0, 0, 0.0

    def update(self, loss):
        loss = loss.item()
        self.total += loss
        self.count += 1
        self.worst = max(self.worst, loss)

    def mean(self):
        return self.total / max(self.count, 1)


class Forecaster:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(PAST, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                                 nn.Linear(WIDTH, AHEAD))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.error = nn.SmoothL1Loss()

    @torch.no_grad()
    def check(self, past, ahead):
        """The error on a batch that the model has not learnt from yet."""
        self.net.eval()
        return self.error(self.net(past), ahead)

    def learn(self, past, ahead):
        self.net.train()
        loss = self.error(self.net(past), ahead)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    meters, forecaster, monitor = Meters(), Forecaster(), Monitor()
    batches = 0
    while time.time() < end:
        past, ahead = meters.read(random.choice((96, 128, 192, 256)))
        monitor.update(forecaster.check(past, ahead))
        learnt = forecaster.learn(past, ahead)
        batches += 1
        if batches % 30 == 0:
            print("batch", batches, "learnt", round(learnt, 4), "mean error", round(monitor.mean(), 4), "worst",
                  round(monitor.worst, 3), flush=True)
        time.sleep(random.uniform(0.03, 0.14))


if __name__ == "__main__":
    main()
