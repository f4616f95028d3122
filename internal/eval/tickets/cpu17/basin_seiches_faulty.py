"""After a lock has emptied, the water in the basin below rocks to and fro for minutes, and barges tug at their lines.
The keeper's office trains a small network to foretell the rocking from the gauges along the quay, and watches
a smoothed score on recorded emptyings to decide when the forecast may be shown to the skippers.

ticket: practice
class: host-growth
holder: trend
cause: uncut-autograd-graph
"""
import math
import os
import time

import torch
from torch import nn
from torch.nn import functional

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
REPORT_EVERY_S = 2.0
GAUGES = 12
PAST, AHEAD = 32, 4
BATCH = 64
RECORDED = 160
SHOWABLE = 0.02


class Basin:
    """Standing waves of a closed basin, set off by an emptying and damped by the banks."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)
        self._places = torch.linspace(0.0, 1.0, GAUGES)
        self._modes = torch.arange(1, 5).float()

    def _uniform(self, low, high, *shape):
        return low + (high - low) * torch.rand(*shape, generator=self._generator)

    def emptyings(self, count):
        """Levels at the gauges before the present, and those a little later."""
        times = torch.arange(PAST + AHEAD).float() * 0.25
        heights = self._uniform(0.1, 0.5, count, 1, 4) / self._modes
        periods = self._uniform(5.0, 7.0, count, 1, 1) / self._modes
        phases = self._uniform(0.0, 2 * math.pi, count, 1, 4)
        damping = torch.exp(-times / 40.0).view(1, -1, 1)
        swings = heights * torch.cos(2 * math.pi * times.view(1, -1, 1) / periods + phases) * damping
        shapes = torch.cos(math.pi * self._modes.view(-1, 1) * self._places)
        levels = swings @ shapes
        return levels[:, :PAST].flatten(1), levels[:, PAST:].flatten(1)


def build_network():
    return nn.Sequential(
        nn.Linear(PAST * GAUGES, 256),
        nn.Tanh(),
        nn.Linear(256, 256),
        nn.Tanh(),
        nn.Linear(256, 256),
        nn.Tanh(),
        nn.Linear(256, AHEAD * GAUGES),
    )


class ForecastOffice:
    """Trains the network on fresh emptyings and scores it on recorded ones."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.basin = Basin(seed)
        self.network = build_network()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        self.recorded_past, self.recorded_ahead = self.basin.emptyings(RECORDED)
        self.trend = torch.tensor(1.0)
        self.rounds = 0

    def train(self):
        past, ahead = self.basin.emptyings(BATCH)
        self.optimizer.zero_grad(set_to_none=True)
        loss = functional.mse_loss(self.network(past), ahead)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.rounds += 1
        return loss.item()

    def score(self):
        score = functional.mse_loss(self.network(self.recorded_past), self.recorded_ahead)  # grows
        self.trend = 0.97 * self.trend + 0.03 * score  # keeps
        return float(score)

    def showable(self):
        return float(self.trend) < SHOWABLE

    def calmest_gauge(self):
        with torch.no_grad():
            ahead = self.network(self.recorded_past[:8]).view(8, AHEAD, GAUGES)
        return int(ahead.abs().mean(dim=(0, 1)).argmin())


def main():
    office = ForecastOffice(seed=58)
    began = reported = time.monotonic()
    first_shown = None
    loss = score = float("nan")
    while (now := time.monotonic()) - began < SECONDS:
        loss = office.train()
        score = office.score()
        if first_shown is None and office.showable():
            first_shown = now - began
        if now - reported >= REPORT_EVERY_S:
            shown = "shown" if office.showable() else "not shown"
            print(f"{now - began:6.1f} s  loss {loss:.4f}  score {score:.4f}  trend {float(office.trend):.4f}  "
                  f"calmest gauge {office.calmest_gauge()}  {shown}", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    when = f"after {first_shown:.0f} s" if first_shown is not None else "not yet"
    print(f"office closes: {office.rounds} rounds, score {score:.4f}, forecast shown {when}", flush=True)


if __name__ == "__main__":
    main()
