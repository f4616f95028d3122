"""Learns the surface speed of an icefall from slope, thickness and melt.

A network is fitted to a stream of satellite pixels, each with twelve terrain
quantities and a measured speed. Beside the pixels there are the stakes that
the field party drilled into the ice; after every step the fit is compared
with them, and the smoothed misfit decides whether the learning rate may stay
or has to fall. A line now and then tells the pixel loss, the stake misfit and
the rate.

ticket: practice
class: none
"""
import math
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

TERRAIN = 12
PIXELS = 1024
STAKES = 320
WIDTH = 512


def true_speed(terrain):
    """The flow law with which the pixels of this exercise are made."""
    slope, thickness, melt = terrain[:, 0:1], terrain[:, 1:2], terrain[:, 2:3]
    creep = torch.sigmoid(2.0 * slope) * thickness.abs().pow(1.5)
    return creep + 0.4 * torch.relu(melt) + 0.05 * terrain[:, 3:].sum(dim=1, keepdim=True)


class SpeedNet(nn.Module):
    """Terrain to speed, with two residual blocks."""

    def __init__(self):
        super().__init__()
        self.entry = nn.Linear(TERRAIN, WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)) for _ in range(2))
        self.exit = nn.Linear(WIDTH, 1)

    def forward(self, terrain):
        hidden = F.gelu(self.entry(terrain))
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return self.exit(F.gelu(hidden))


class Fit:
    """The network, its optimizer and what the stakes say about it."""

    def __init__(self, device):
        self.device = device
        self.net = SpeedNet().to(device)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=6e-4)
        self.stakes = torch.randn(STAKES, TERRAIN, device=device)
        self.measured = true_speed(self.stakes) + 0.05 * torch.randn(STAKES, 1, device=device)
        self.stake_trend = torch.ones((), device=device)
        self.best = math.inf
        self.waiting = 0

    def learn(self, terrain, speed):
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.smooth_l1_loss(self.net(terrain), speed)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def compare(self):
        with torch.no_grad():
            misfit = F.smooth_l1_loss(self.net(self.stakes), self.measured)
        self.stake_trend = 0.97 * self.stake_trend + 0.03 * misfit
        return self.stake_trend.item()

    def settle(self, trend):
        """Lowers the rate when the stakes have not come closer for a while."""
        if trend < self.best * 0.995:
            self.best = trend
            self.waiting = 0
            return
        self.waiting += 1
        if self.waiting >= 60:
            self.waiting = 0
            for group in self.optimizer.param_groups:
                group["lr"] = max(1e-5, group["lr"] * 0.5)

    @property
    def rate(self):
        return self.optimizer.param_groups[0]["lr"]


def pixels(device):
    terrain = torch.randn(PIXELS, TERRAIN, device=device)
    return terrain, true_speed(terrain) + 0.1 * torch.randn(PIXELS, 1, device=device)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(23)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    fit = Fit(device)
    step = 0
    trend = loss = 0.0
    due = time.time()
    while time.time() < end:
        due += 0.2
        terrain, speed = pixels(device)
        loss = fit.learn(terrain, speed)
        trend = fit.compare()
        fit.settle(trend)
        step += 1
        if step % 20 == 0:
            print(f"step {step}: pixels {loss:.4f}, stakes {trend:.4f}, rate {fit.rate:.1e}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"ended after {step} steps with stakes at {trend:.4f}", flush=True)


if __name__ == "__main__":
    main()
