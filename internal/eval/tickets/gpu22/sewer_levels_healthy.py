"""The network of sewers of a town: how high will the water stand at each manhole in the next hours? A graph network
(torch_geometric) forecasts it again and again as the rain changes. The forecast is put into the graph itself, beside
what was measured, so that the control room can draw both.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

MANHOLES, PIPES, PAST, HOURS, WIDTH = 12_000, 16_000, 8, 24, 32


class Forecaster(nn.Module):
    """Levels of the last hours, and rain, to levels of the next ones."""

    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(PAST + 1, WIDTH), GCNConv(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH + PAST + 1, HOURS)

    def forward(self, x, edge_index):
        hidden = self.first(x, edge_index).relu()
        hidden = self.second(hidden, edge_index).relu()
        return self.out(torch.cat([hidden, x], 1))


def build_town(seed=9):
    """Most pipes lead to a manhole nearby, some are long."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, MANHOLES, PIPES)
    length = np.where(rng.random(PIPES) < 0.9, rng.integers(1, 40, PIPES), rng.integers(1, MANHOLES, PIPES))
    pipes = torch.from_numpy(np.stack([start, (start + length) % MANHOLES]))
    return Data(measured=torch.rand(MANHOLES, PAST), rain=torch.zeros(MANHOLES), edge_index=pipes.long())


def rainfall(town):
    """It rains in one quarter or another, and the water goes down again."""
    quarter = random.randrange(8) * (MANHOLES // 8)
    town.rain.mul_(0.9)
    town.rain[quarter:quarter + MANHOLES // 8] += random.uniform(0, 0.5)
    level = 0.85 * town.measured[:, -1] + 0.3 * town.rain
    town.measured = torch.cat([town.measured[:, 1:], level[:, None]], 1)


class ControlRoom:
    def __init__(self, device):
        self.device, self.town = device, build_town()
        self.forecaster = Forecaster().to(device)
        self.optimizer = torch.optim.Adam(self.forecaster.parameters(), lr=3e-3)
        self.pipes = self.town.edge_index.to(device)

    def inputs(self):
        return torch.cat([self.town.measured, self.town.rain[:, None]], 1).to(self.device)

    def forecast(self):
        levels = self.forecaster(self.inputs(), self.pipes)
        hours = torch.exp(-torch.arange(HOURS, device=self.device) / 6)
        loss = (levels - self.town.measured[:, -1:].to(self.device) * hours).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.town["forecast"] = levels.detach().cpu().numpy().copy()
        return loss.item()

    def draw(self):
        levels = self.town["forecast"]
        return int((levels > 0.8).any(1).sum()), int(levels.max(1).argmax())


def main():
    torch.set_num_threads(1)
    room, tick = ControlRoom("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        rainfall(room.town)
        loss = room.forecast()
        if tick % 8 == 0:
            flooded, worst = room.draw()
            print("tick", tick, "loss", round(loss, 4), "flooded", flooded, "worst", worst, flush=True)
        tick += 1
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
