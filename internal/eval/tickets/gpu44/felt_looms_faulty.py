"""Cameras over needle looms look for flaws in felt. An autoencoder restores each picture; where the error is far above
the usual level of that loom, an alarm is raised. The level is a running mean on the device. Every tenth picture also
trains the network, so that it follows the wear of the needles.

ticket: practice
class: app-leak
holder: level Gauge gauges grad_fn
cause: uncut-autograd-graph
"""

import os
import random
import time
from dataclasses import dataclass, field

import torch
from torch import nn

SIZE = 128


class Restorer(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.squeeze = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.GELU(),
                                     nn.Conv2d(width, width, 4, stride=4), nn.GELU())
        self.spread = nn.Sequential(nn.ConvTranspose2d(width, width, 4, stride=4), nn.GELU(),
                                    nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, picture):
        return self.spread(self.squeeze(picture))


@dataclass
class Gauge:
    """The usual error of one loom."""

    level: torch.Tensor
    pace: float = 0.05
    seen: int = 0

    def update(self, error):
        self.seen += 1
        pace = max(self.pace, 1 / self.seen)
        self.level = torch.lerp(self.level, error, pace)  # keeps


@dataclass
class Watch:
    device: str
    looms: tuple = ("north", "south", "annex")
    train_every: int = 10
    alarms: int = 0
    pictures: int = 0
    gauges: dict = field(default_factory=dict)

    def __post_init__(self):
        self.restorer = Restorer().to(self.device)
        self.optimizer = torch.optim.SGD(self.restorer.parameters(), lr=0.01)
        for loom in self.looms:
            self.gauges[loom] = Gauge(torch.zeros((), device=self.device))

    def picture(self):
        felt = 0.1 * torch.randn(1, 1, SIZE, SIZE, device=self.device)
        if random.random() < 0.03:
            felt[..., 40:60, 30:90] += 2.0
        return felt

    def look(self, loom):
        picture, gauge = self.picture(), self.gauges[loom]
        restored = self.restorer(picture)  # grows
        error = (restored - picture).square().mean()
        if gauge.seen > 20 and error.item() > 2 * gauge.level.item():
            self.alarms += 1
            return
        self.pictures += 1
        if self.pictures % self.train_every == 0:
            self.optimizer.zero_grad()
            error.backward()
            self.optimizer.step()
        gauge.update(error)

    def __str__(self):
        levels = ", ".join(f"{loom} {gauge.level.item():.4f}" for loom, gauge in self.gauges.items())
        return f"{self.pictures} pictures, {self.alarms} alarms, levels: {levels}"


def main():
    torch.set_num_threads(1)
    watch = Watch("cuda" if torch.cuda.is_available() else "cpu")
    rounds, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for loom in watch.looms:
            watch.look(loom)
        rounds += 1
        if rounds % 15 == 0:
            print(watch, flush=True)
        time.sleep(random.choice((0.15, 0.25, 0.4)))


if __name__ == "__main__":
    main()
