"""Moisture of a peat mire, followed live with a recurrent model.

The mire is divided into cells, each with a hidden state of how wet its layers are. Rain and frost come in step by step,
the live state moves on with every step, and a gauge in some of the cells reads the true water table. The model goes on
learning from short windows of the recent weather, which start from the live state of the time.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch
from torch import nn

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
STEPS_A_SECOND = 5.0
CELLS = 1536
HIDDEN = 48
FORCINGS = 6
GAUGES = 192
WINDOW = 8


class MireModel(nn.Module):
    """A gated cell for the wetness and a readout of the water table in metres."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(FORCINGS, HIDDEN)
        self.readout = nn.Linear(HIDDEN, 1)

    def step(self, weather, wetness):
        return self.cell(weather, wetness)

    def water_table(self, wetness):
        return self.readout(wetness).squeeze(-1)


class Weather:
    """Rain, frost and the true water table of a slowly draining bog."""

    def __init__(self, seed):
        self._random = torch.Generator(device=DEVICE).manual_seed(seed)
        self._drainage = 0.90 + 0.08 * torch.rand(CELLS, generator=self._random, device=DEVICE)
        self._table = torch.zeros(CELLS, device=DEVICE)

    def next_step(self):
        forcing = torch.randn(CELLS, FORCINGS, generator=self._random, device=DEVICE)
        rain = forcing[:, 0].clamp(min=0.0)
        loss = 0.3 * forcing[:, 1].clamp(min=0.0)
        self._table = self._drainage * self._table + 0.1 * (rain - loss)
        return forcing, self._table[:GAUGES].clone()


class Follower:
    """Carries the live state of the mire and trains the model beside it."""

    def __init__(self, model):
        self._model = model.to(DEVICE)
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=3e-3)
        self._wetness = torch.zeros(CELLS, HIDDEN, device=DEVICE)
        self._recent = deque(maxlen=WINDOW)
        self._window_start = self._wetness[:GAUGES]
        self.error = 0.0

    def follow(self, forcing, gauges):
        if len(self._recent) == WINDOW:
            self._train()
        if not self._recent:
            self._window_start = self._wetness[:GAUGES].detach().clone()
        self._recent.append((forcing[:GAUGES], gauges))
        self._wetness = self._model.step(forcing, self._wetness).detach()
        estimate = self._model.water_table(self._wetness[:GAUGES])
        self.error = 0.9 * self.error + 0.1 * float((estimate - gauges).abs().mean())

    def _train(self):
        wetness = self._window_start
        loss = 0.0
        for forcing, gauges in self._recent:
            wetness = self._model.step(forcing, wetness)
            loss = loss + (self._model.water_table(wetness) - gauges).square().mean()
        self._optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimizer.step()
        self._recent.clear()

    def report(self):
        with torch.no_grad():
            table = self._model.water_table(self._wetness)
        return float(table.mean()), float(table.min()), float(table.max())


def main():
    torch.manual_seed(1829)
    weather = Weather(seed=12)
    follower = Follower(MireModel())
    steps = 0
    end = time.monotonic() + SECONDS
    next_line = time.monotonic() + 3.0
    while time.monotonic() < end:
        began = time.monotonic()
        follower.follow(*weather.next_step())
        steps += 1
        if began >= next_line:
            mean, low, high = follower.report()
            print(f"step {steps:4d}: water table {mean:+.3f} m ({low:+.3f} to {high:+.3f}), "
                  f"gauge error {follower.error:.4f}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / STEPS_A_SECOND - (time.monotonic() - began)))
    print(f"followed {steps} steps, gauge error {follower.error:.4f}", flush=True)


if __name__ == "__main__":
    main()
