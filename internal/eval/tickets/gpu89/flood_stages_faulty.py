"""Forecasts the stage of a river at 384 gauges, hour by hour, while the readings come in.

A recurrent core takes every hour's readings (stage, rain, melt, soil, the gauge's own fixed traits) and carries the
wetness of each catchment from one hour to the next.  The core comes from a long hindcast and is used as it is.  On top
of it sits a small head that turns wetness into the stages of the next six hours; the head goes on learning from each
hour's readings with a quantile loss, because gauges are moved, weirs are rebuilt and weed grows in summer.  Every so
often the program prints the loss, the share of readings inside the forecast band and the gauge that runs highest.

ticket: practice
class: app-leak
holder: wetness
cause: uncut-autograd-graph
"""
import collections
import math
import os
import time

import torch
from torch import nn

GAUGES = 384
TRAITS = 12
READINGS = 4
HIDDEN = 256
LEADS = 6
QUANTILES = (0.1, 0.5, 0.9)


class Weather:
    """Storms that pass over the basin, and the stages they cause."""

    def __init__(self, device):
        self.device = device
        self.noise = torch.Generator(device="cpu").manual_seed(11)
        self.place = torch.rand(GAUGES, generator=self.noise)
        self.stage = torch.ones(GAUGES)
        self.soil = torch.full((GAUGES,), 0.4)
        self.hour = 0

    def next_hour(self):
        self.hour += 1
        front = (self.hour * 0.013) % 1.0
        rain = torch.exp(-((self.place - front) ** 2) / 0.01) * (1.0 + math.sin(self.hour / 9.0))
        rain = rain + 0.05 * torch.rand(GAUGES, generator=self.noise)
        melt = torch.full((GAUGES,), max(0.0, 0.2 * math.sin(self.hour / 24.0 * 2.0 * math.pi)))
        self.soil = (0.97 * self.soil + 0.05 * rain).clamp(0.0, 1.0)
        self.stage = 0.9 * self.stage + 0.3 * rain * self.soil + 0.1 * melt
        return torch.stack([self.stage, rain, melt, self.soil], dim=1).to(self.device)


class Core(nn.Module):
    def __init__(self):
        super().__init__()
        self.traits = nn.Parameter(torch.randn(GAUGES, TRAITS) * 0.3)
        self.inlet = nn.Linear(READINGS + TRAITS, 64)
        self.cell = nn.GRUCell(64, HIDDEN)

    def forward(self, readings, wetness):
        inlet = torch.tanh(self.inlet(torch.cat([readings, self.traits], dim=1)))
        return self.cell(inlet, wetness)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(HIDDEN, 96), nn.SiLU(), nn.Linear(96, LEADS * len(QUANTILES)))

    def forward(self, wetness):
        return self.net(wetness).view(-1, LEADS, len(QUANTILES))


class StageForecaster:
    def __init__(self, device):
        self.core = Core().to(device).eval()
        self.head = Head().to(device)
        self.optimizer = torch.optim.Adam(self.head.parameters(), lr=2e-3)
        self.levels = torch.tensor(QUANTILES, device=device)
        self.wetness = torch.zeros(GAUGES, HIDDEN, device=device)
        self.waiting = collections.deque(maxlen=LEADS)
        self.recent = collections.deque(maxlen=LEADS)

    def assimilate(self, readings):
        self.wetness = self.core(readings, self.wetness)  # grows keeps
        self.recent.append(readings[:, 0].clone())
        if len(self.waiting) == LEADS:
            outcome = torch.stack(list(self.recent), dim=1)
            result = self.learn(self.waiting[0], outcome)
        else:
            result = None
        self.waiting.append(self.wetness.detach())
        return result

    def learn(self, wetness, outcome):
        forecast = self.head(wetness)
        error = outcome.unsqueeze(2) - forecast
        loss = torch.maximum(self.levels * error, (self.levels - 1.0) * error).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        inside = (outcome >= forecast[:, :, 0]) & (outcome <= forecast[:, :, 2])
        return loss.item(), inside.float().mean().item()


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    weather = Weather(device)
    forecaster = StageForecaster(device)
    spoken = time.time()
    while time.time() < deadline:
        readings = weather.next_hour()
        result = forecaster.assimilate(readings)
        if result is not None and time.time() - spoken > 2.0:
            loss, covered = result
            highest = int(readings[:, 0].argmax())
            print(f"hour {weather.hour}: loss {loss:.4f}, inside the band {covered:.0%}, highest at gauge {highest}",
                  flush=True)
            spoken = time.time()
        time.sleep(0.14)
    print(f"stopped after {weather.hour} hours", flush=True)


if __name__ == "__main__":
    main()
