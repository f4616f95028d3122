"""Brine density forecasts for the evaporation pans of a coastal salt works.

A small convolutional model learns from maps of the pans (density, temperature, wind and depth) to say how dense the
brine will be half a day later. The season of maps is synthetic: warm spells, rain and a slow drift towards saturation.
After every dozen batches the foreman gets a page with the mean loss and the spread of the forecast densities.

    ticket: practice
    class: none
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
SIDE = 96
DAYS = 120
BATCH = 32
BATCHES_PER_PAGE = 12
ROUND = 1.0 / 6.0
SATURATION = 26.4

torch.set_num_threads(1)


class Season:
    """One summer of pan maps; the channels are density, temperature, wind and depth."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        days = torch.linspace(0.0, 1.0, DAYS).view(DAYS, 1, 1)
        relief = torch.rand(1, SIDE, SIDE, generator=self.generator)
        density = 0.35 + 0.5 * days + 0.1 * relief
        warmth = 0.5 + 0.3 * torch.sin(9.0 * days) + 0.05 * relief
        wind = 0.4 + 0.2 * torch.rand(DAYS, SIDE, SIDE, generator=self.generator)
        depth = 0.6 - 0.3 * days + 0.1 * relief
        fields = torch.stack([density, warmth.expand_as(density), wind, depth], dim=1)
        self.fields = fields.contiguous().to(DEVICE)

    def draw(self):
        """A batch of today's maps and the density that the hydrometers read half a day later."""
        picks = torch.randint(0, DAYS, (BATCH,), generator=self.generator).to(DEVICE)
        today = self.fields[picks]
        drying = 0.04 * today[:, 1:2] * today[:, 2:3] / (0.2 + today[:, 3:4])
        later = (today[:, 0:1] + drying).clamp(max=1.0)
        return today, later


class PanPage:
    """What the foreman reads: losses and forecast densities of the page that is being written."""

    def __init__(self):
        self.number = 1
        self.losses = []
        self.forecasts = []

    def add(self, loss, forecast):
        self.losses.append(loss)
        self.forecasts.append(forecast)

    def full(self):
        return len(self.losses) >= BATCHES_PER_PAGE

    def spread(self):
        recent = self.forecasts[-BATCHES_PER_PAGE:]
        sample = torch.cat([forecast.flatten()[::64] for forecast in recent])
        low, high = torch.quantile(sample, torch.tensor([0.1, 0.9], device=DEVICE)).tolist()
        return low * SATURATION, high * SATURATION

    def text(self):
        low, high = self.spread()
        mean = sum(self.losses) / len(self.losses)
        return f"page {self.number}: loss {mean:.5f}, density {low:.1f} to {high:.1f} percent"

    def turn(self):
        self.number += 1
        self.losses = []
        self.forecasts = []


class Forecaster:
    def __init__(self):
        torch.manual_seed(21)
        self.net = nn.Sequential(
            nn.Conv2d(4, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 1, 3, padding=1),
        ).to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)

    def learn(self, today, later):
        forecast = self.net(today)
        loss = nn.functional.mse_loss(forecast, later)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), forecast.detach()


def main():
    season = Season(seed=4)
    forecaster = Forecaster()
    page = PanPage()
    end = time.time() + SECONDS
    batches = 0
    while time.time() < end:
        started = time.time()
        today, later = season.draw()
        loss, forecast = forecaster.learn(today, later)
        page.add(loss, forecast)
        batches += 1
        if page.full():
            print(page.text(), flush=True)
            page.turn()
        time.sleep(max(0.01, ROUND - (time.time() - started)))
    print(f"season closed after {batches} batches on {DEVICE}", flush=True)


if __name__ == "__main__":
    main()
