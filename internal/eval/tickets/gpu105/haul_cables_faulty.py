"""Inspection of the haul cables of a ropeway.

A magnetic head reads the cable as it runs through the drive station, and a small network learns to tell broken wires
from the hum of the strands. Once the wind gets up the gale watch joins in: it looks up how each span would swing at
the gust just measured and warns if a cabin would come too near to a pylon.

ticket: practice
class: app-leak
holder: _tables
cause: cache-without-bound
"""
import math
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
READING = 512
BATCH = 24
GALE_FROM_S = 20.0
SPANS_M = {"meadow": 310.0, "gorge": 520.0, "summit": 405.0}
POINTS, INSTANTS = 256, 512
CLEARANCE_M = 6.5


class WireNet(nn.Module):
    """Finds broken wires in a stretch of magnetic readings."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(2, 12, 9, stride=4), nn.ReLU(),
            nn.Conv1d(12, 16, 9, stride=4), nn.ReLU(),
            nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(128, 2))

    def forward(self, readings):
        return self.layers(readings)


class MagneticHead:
    """Cuts readings out of a long record of the cable; some of them get the spike of a broken wire."""

    def __init__(self):
        self.record = torch.randn(2, 6_000_000, device=DEVICE)
        self.spike = 4.0 * torch.exp(-torch.linspace(-3, 3, 40, device=DEVICE) ** 2)

    def read(self, rng):
        cuts, labels = [], []
        for _ in range(BATCH):
            at = rng.randrange(self.record.shape[1] - READING)
            cut = self.record[:, at:at + READING].clone()
            broken = rng.random() < 0.5
            if broken:
                where = rng.randrange(READING - 40)
                cut[:, where:where + 40] += self.spike
            cuts.append(cut)
            labels.append(int(broken))
        return torch.stack(cuts), torch.tensor(labels, device=DEVICE)


class SwingTables:
    """Sideways swing of a span over its length and over one gust, in metres."""

    def __init__(self):
        self.along = torch.linspace(0, math.pi, POINTS, device=DEVICE)[:, None]
        self.times = torch.linspace(0, 30.0, INSTANTS, device=DEVICE)[None, :]
        self._tables = {}

    def compute(self, span, speed):
        length = SPANS_M[span]
        height = 1.1e-5 * speed ** 2 * length
        pace = 2 * math.pi / math.sqrt(length / 4)
        shape = torch.sin(self.along) + 0.3 * torch.sin(2 * self.along)
        return shape * (height * (1 - torch.cos(pace * self.times)))  # grows

    def lookup(self, span, gust):
        speed = round(gust, 3)
        table = self._tables.get((span, speed))
        if table is None:
            table = self.compute(span, speed)
            self._tables[span, speed] = table  # keeps
        return table


class GaleWatch:
    def __init__(self, rng):
        self.rng = rng
        self.swings = SwingTables()
        self.warnings = 0

    def check(self):
        span = self.rng.choice(list(SPANS_M))
        gust = self.rng.uniform(12.0, 24.0)
        reach = self.swings.lookup(span, gust).max().item()
        if reach > CLEARANCE_M:
            self.warnings += 1


def main():
    torch.manual_seed(1908)
    torch.set_num_threads(1)
    rng = random.Random(1908)
    head, net, watch = MagneticHead(), WireNet().to(DEVICE), GaleWatch(rng)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    rounds = 0
    start = due = time.monotonic()
    while (now := time.monotonic() - start) < SECONDS:
        readings, labels = head.read(rng)
        loss = F.cross_entropy(net(readings), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if now >= GALE_FROM_S:
            watch.check()
        rounds += 1
        if rounds % 40 == 0:
            print(f"{now:5.1f} s: loss {loss.item():.3f}, {watch.warnings} gale warnings", flush=True)
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"{rounds} stretches of cable read, {watch.warnings} gale warnings", flush=True)


if __name__ == "__main__":
    main()
