"""Foresees how delays spread among the flights of an airport group, hour after hour.

The flights of a rolling day are the nodes of a graph; two flights are joined where they share an aircraft, a crew, a
gate or a crowd of changing passengers.  The graph of an hour is drawn up from the timetable, weighted as the graph
convolution wants it, and placed on the card.  The net is trained on some of the last six hours, since late reports
still come in for them, and is then tried on the newest hour.  The timetable here is made up from a seed for each hour.
Now and then the program prints the hour, the training loss and the error on the newest hour in minutes.

ticket: practice
class: none
"""
import collections
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

FLIGHTS = 6000
LINKS = 96000
TRAITS = 24
WINDOW = 6


class Timetable:
    """Graphs of single hours, ready for the net."""

    def __init__(self, device):
        self.device = device
        self.hour_graphs = collections.OrderedDict()

    def draw_up(self, hour):
        dice = np.random.default_rng(100003 + hour)
        source = (FLIGHTS * dice.random(LINKS) ** 1.7).astype(np.int64)
        target = (source + 1 + dice.integers(0, FLIGHTS - 1, LINKS)) % FLIGHTS
        traits = dice.standard_normal((FLIGHTS, TRAITS), dtype=np.float32)
        weather = math.sin(hour / 7.0)
        own = np.maximum(traits[:, 0] * 8.0 + 6.0 * weather, 0.0)
        passed_on = np.zeros(FLIGHTS, dtype=np.float32)
        np.add.at(passed_on, target, 0.08 * own[source])
        delay = (own + passed_on).astype(np.float32)
        return torch.from_numpy(np.stack([source, target])), torch.from_numpy(traits), torch.from_numpy(delay)

    def graph(self, hour):
        if hour not in self.hour_graphs:
            links, traits, delay = self.draw_up(hour)
            links, strength = gcn_norm(links.to(self.device), num_nodes=FLIGHTS)
            data = Data(x=traits, edge_index=links, edge_weight=strength, y=delay).to(self.device)
            self.hour_graphs[hour] = data
            while len(self.hour_graphs) > WINDOW + 1:
                self.hour_graphs.popitem(last=False)
        return self.hour_graphs[hour]


class DelayNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.first = GCNConv(TRAITS, width, normalize=False)
        self.second = GCNConv(width, width, normalize=False)
        self.own = nn.Linear(TRAITS, width)
        self.out = nn.Linear(2 * width, 1)

    def forward(self, data):
        near = F.relu(self.first(data.x, data.edge_index, data.edge_weight))
        far = F.relu(self.second(near, data.edge_index, data.edge_weight))
        own = F.relu(self.own(data.x))
        return self.out(torch.cat([far, own], dim=1)).squeeze(1)


class Forecaster:
    def __init__(self, device):
        self.timetable = Timetable(device)
        self.net = DelayNet().to(device)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=3e-3)
        self.dice = np.random.default_rng(1)

    def learn(self, hour):
        data = self.timetable.graph(hour)
        loss = F.huber_loss(self.net(data), data.y, delta=5.0)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def error(self, hour):
        data = self.timetable.graph(hour)
        return (self.net(data) - data.y).abs().mean().item()

    def advance(self, hour):
        past = np.arange(max(0, hour - WINDOW), hour)
        chosen = self.dice.choice(past, size=min(3, len(past)), replace=False)
        losses = [self.learn(int(earlier)) for earlier in chosen]
        return sum(losses) / len(losses), self.error(hour)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(6)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    forecaster = Forecaster(device)
    hour = 0
    spoken = time.time()
    while time.time() < deadline:
        hour += 1
        loss, minutes = forecaster.advance(hour)
        if time.time() - spoken > 2.0:
            print(f"day {hour // 24}, {hour % 24:02d} h: loss {loss:.2f}, newest hour off by {minutes:.2f} min",
                  flush=True)
            spoken = time.time()
        time.sleep(0.15)
    print(f"finished after {hour} hours", flush=True)


if __name__ == "__main__":
    main()
