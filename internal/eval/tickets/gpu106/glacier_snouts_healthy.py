"""Forecast of where the snouts of valley glaciers will lie.

The ice of a valley is a grid of thicknesses. Each step moves it by the slope of its surface and by a learned law of
sliding, a small network of thickness, slope and meltwater; snow and melt are added after that. The forecast runs on
day by day, while the law is calibrated now and then against surveys of how far stakes have moved.

ticket: practice
class: none
"""
import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS = 128
COLUMNS = 128
DAYS_A_SECOND = 7.0
CALIBRATE_EVERY = 4


class SlidingLaw(nn.Module):
    """How fast ice slides over its bed, from thickness, slope and meltwater."""

    def __init__(self, width=12):
        super().__init__()
        self.sense = nn.Conv2d(3, width, 3, padding=1)
        self.speed = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, thickness, slope, water):
        fields = torch.stack([thickness / 100.0, slope, water]).unsqueeze(0)
        hidden = torch.tanh(self.sense(fields))
        return 0.5 * torch.sigmoid(self.speed(hidden))[0, 0]


class Climate:
    """Snow above the firn line and melt below it, with the seasons."""

    def __init__(self, elevation):
        self.elevation = elevation
        self.day = 0

    def next_day(self):
        self.day += 1
        season = math.sin(2.0 * math.pi * self.day / 365.0)
        line = 2700.0 + 350.0 * season
        balance = ((self.elevation - line) / 900.0).clamp(-1.2, 0.8)
        water = (-balance).clamp(min=0.0) * (0.6 + 0.4 * season)
        return balance, water


class Valley:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        down = torch.linspace(3400.0, 1900.0, ROWS).unsqueeze(1).expand(ROWS, COLUMNS)
        across = torch.linspace(-1.0, 1.0, COLUMNS).unsqueeze(0) ** 2 * 500.0
        rough = F.avg_pool2d(torch.randn(1, 1, ROWS, COLUMNS, generator=generator), 9, 1, 4)[0, 0] * 120.0
        self.bed = (down + across + rough).to(DEVICE)
        self.initial = (90.0 - across.to(DEVICE) * 0.15 + (self.bed - 2600.0) * 0.2).clamp(min=0.0)


class SnoutForecast:
    def __init__(self, valley):
        torch.manual_seed(17)
        self.bed = valley.bed
        self.law = SlidingLaw().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.law.parameters(), lr=0.02, momentum=0.9)
        self.climate = Climate(valley.bed)
        self.thickness = valley.initial
        self.misfit = float("nan")

    def slope(self, thickness):
        surface = self.bed + thickness
        fall = F.pad(surface[:-1] - surface[1:], (0, 0, 0, 1))
        return (fall / 40.0).clamp(-1.0, 1.0)

    def advance(self, thickness, balance, water):
        """One day of sliding downhill, then of snow or melt."""
        speed = self.law(thickness, self.slope(thickness), water)
        flux = speed * thickness * 0.2
        arriving = F.pad(flux[:-1], (0, 0, 1, 0))
        return (thickness - flux + arriving + balance).clamp(0.0, 400.0)

    def forecast_day(self):
        balance, water = self.climate.next_day()
        self.thickness = self.advance(self.thickness, balance, water).detach()
        if self.climate.day % CALIBRATE_EVERY == 0:
            self.calibrate(self.thickness.detach(), water)

    def calibrate(self, thickness, water):
        """Fits the law to the speeds of a survey of stakes made on this day."""
        slope = self.slope(thickness)
        surveyed = 0.3 * (slope * 0.5 + thickness / 400.0 + 0.2 * water).clamp(0.0, 1.0)
        loss = F.mse_loss(self.law(thickness, slope, water), surveyed)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.misfit = float(loss)

    def snout_row(self):
        iced = (self.thickness.amax(dim=1) > 1.0).nonzero()
        return int(iced.max()) if iced.numel() else 0


def main():
    forecast = SnoutForecast(Valley(seed=3))
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        forecast.forecast_day()
        if round_begun - told > 2.0:
            told = round_begun
            print(f"day {forecast.climate.day}: snout in row {forecast.snout_row()}, "
                  f"mean thickness {forecast.thickness.mean().item():.2f} m, misfit {forecast.misfit:.5f}", flush=True)
        time.sleep(max(0.01, 1.0 / DAYS_A_SECOND - (time.monotonic() - round_begun)))
    print(f"done after {forecast.climate.day} days, snout in row {forecast.snout_row()}", flush=True)


if __name__ == "__main__":
    main()
