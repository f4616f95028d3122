"""Surrogate of the wake behind a car model, trained on pitot surveys of a wind tunnel.

A small network learns the velocity deficit at a position of the traverse for a given yaw angle and speed. Batches come
from an analytic wake with measurement noise. Every few steps a held-out plane is scored; the smoothed score decides
on the learning rate.

ticket: practice
class: none
"""
import itertools
import os
import time

import torch
from torch import nn

BATCH = 192
PLANE = 1024
WIDTH = 256
STEPS_PER_SECOND = 12
SCORE_EVERY = 4


def wake(points):
    """Velocity deficit of two counter-rotating lobes that drift with yaw; points are x, y, z, yaw, speed."""
    x, y, z, yaw, speed = points.unbind(dim=1)
    spread = 0.15 + 0.25 * x
    left = torch.exp(-((y - 0.3 - yaw * x) ** 2 + (z - 0.2) ** 2) / spread ** 2)
    right = torch.exp(-((y + 0.3 - yaw * x) ** 2 + (z - 0.25) ** 2) / spread ** 2)
    return ((0.8 * left + 0.7 * right) * (1 + 0.1 * speed) / (1 + x)).unsqueeze(1)


def survey(count, noise, generator):
    low = torch.tensor([0.0, -1.0, 0.0, -0.2, -1.0])
    high = torch.tensor([2.0, 1.0, 0.8, 0.2, 1.0])
    points = low + (high - low) * torch.rand(count, 5, generator=generator)
    return points, wake(points) + noise * torch.randn(count, 1, generator=generator)


class WakeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inlet = nn.Linear(5, WIDTH)
        self.middle = nn.Linear(WIDTH, WIDTH)
        self.outlet = nn.Linear(WIDTH, 1)

    def forward(self, points):
        hidden = torch.tanh(self.inlet(points))
        hidden = torch.tanh(self.middle(hidden))
        return self.outlet(hidden)


class Tuner:
    """Halves the learning rate when the smoothed score of the held-out plane stalls."""

    def __init__(self, optimizer, patience):
        self.optimizer = optimizer
        self.patience = patience
        self.trend = None
        self.best = float("inf")
        self.stalled = 0

    def tell(self, score):
        if self.trend is None:
            self.trend = score
        else:
            self.trend = 0.9 * self.trend + 0.1 * score
        if self.trend < 0.995 * self.best:
            self.best, self.stalled = float(self.trend), 0
            return
        self.stalled += 1
        if self.stalled >= self.patience:
            self.stalled = 0
            for group in self.optimizer.param_groups:
                group["lr"] = max(1e-4, group["lr"] / 2)


class Fit:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.net = WakeNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.tuner = Tuner(self.optimizer, patience=10)
        self.plane = survey(PLANE, 0.0, self.generator)

    def learn(self):
        points, deficit = survey(BATCH, 0.02, self.generator)
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.net(points), deficit)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def score(self):
        points, deficit = self.plane
        return (self.net(points) - deficit).abs().mean()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    fit = Fit(seed=7)
    for step in itertools.count(1):
        if time.time() >= end:
            break
        loss = fit.learn()
        if step % SCORE_EVERY == 0:
            fit.tuner.tell(fit.score().detach())
        if step % (3 * STEPS_PER_SECOND) == 0:
            rate = fit.optimizer.param_groups[0]["lr"]
            print(f"step {step}: loss {loss:.5f}, trend {float(fit.tuner.trend):.4f}, rate {rate:.5f}", flush=True)
        time.sleep(1.0 / STEPS_PER_SECOND)


if __name__ == "__main__":
    main()
