"""Visual range of a lighthouse in fog.

Sensors along the coast measure humidity, backscatter and temperatures, and a network learns from the sightings of
pilots how far the light carries. The keeper's desk watches how well the network does on fresh sightings; if the drift
gauge climbs, the learning rate is raised for a while.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 6
SENSORS = 48
SIGHTINGS = 200_000
BATCH = 512
FRESH = 256
CALM_RATE, BRISK_RATE = 5e-4, 2e-3


class Coast:
    """The sightings of the past months: sensor readings and the range a pilot reported, in miles."""

    def __init__(self):
        self.readings = torch.randn(SIGHTINGS, SENSORS, device=DEVICE)
        self.weights = torch.randn(SENSORS, device=DEVICE) / SENSORS ** 0.5
        self.season = 0.0

    def ranges(self, readings):
        clear = torch.sigmoid(readings @ self.weights + self.season)
        return 18.0 * clear + 0.4 * torch.randn(len(readings), device=DEVICE)

    def sample(self, count):
        picks = torch.randint(0, SIGHTINGS, (count,), device=DEVICE)
        readings = self.readings[picks]
        return readings, self.ranges(readings)

    def turn(self):
        """The season moves on a little."""
        self.season = 0.998 * self.season + 0.01 * torch.randn(()).item()


class RangeNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(SENSORS, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1))

    def forward(self, readings):
        return self.layers(readings).squeeze(1)


class DriftGauge:
    """Smoothed error on fresh sightings, next to the error at which the gauge was set."""

    def __init__(self, decay=0.97):
        self.decay = decay
        self.level = torch.zeros((), device=DEVICE)
        self.calm = None

    def update(self, error):
        self.level = self.decay * self.level + (1 - self.decay) * error.detach()

    def reading(self):
        return self.level.item()

    def drifting(self):
        level = self.reading()
        self.calm = level if self.calm is None else min(self.calm, level) + 1e-4
        return level > 1.25 * self.calm


class Keeper:
    """Trains the network and minds the gauge."""

    def __init__(self, coast):
        self.coast = coast
        self.net = RangeNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=BRISK_RATE)
        self.gauge = DriftGauge()

    def train(self):
        readings, ranges = self.coast.sample(BATCH)
        loss = nn.functional.smooth_l1_loss(self.net(readings), ranges)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def inspect(self):
        """Holds the network against sightings that it is not trained on."""
        readings, ranges = self.coast.sample(FRESH)
        carried = self.net(readings)
        self.gauge.update((carried - ranges).abs().mean())

    def set_rate(self):
        rate = BRISK_RATE if self.gauge.drifting() else CALM_RATE
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate


def main():
    torch.manual_seed(1859)
    torch.set_num_threads(1)
    coast = Coast()
    keeper = Keeper(coast)
    rounds = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        loss = keeper.train()
        keeper.inspect()
        coast.turn()
        rounds += 1
        if rounds % (4 * ROUNDS_A_SECOND) == 0:
            rate = keeper.set_rate()
            level = keeper.gauge.reading()
            print(f"round {rounds}: loss {loss:.3f}, gauge {level:.3f} miles, rate {rate:g}", flush=True)
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"light out after {rounds} rounds, gauge {keeper.gauge.reading():.3f} miles", flush=True)


if __name__ == "__main__":
    main()
