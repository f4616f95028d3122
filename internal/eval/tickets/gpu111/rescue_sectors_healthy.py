"""A coordination centre asks where a lifeboat should search for a drifting casualty. The service spreads the
casualty's likely place over a chart with wind and tide, starting at the last known position near one of the
stations, and answers with the best sector of the chart. Several calls during an incident ask for the same chart.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CHART = 320
SECTORS = 8
ROUNDS_A_SECOND = 15
STATIONS = ("Porthgarrow", "Skerrin", "Lunna Head")
WIND_BANDS = (9.0, 20.0)


@dataclass(frozen=True)
class Call:
    """A request from the coordination centre."""
    station: str
    wind_knots: float
    ebbing: bool


class DriftChart:
    """Spreads a last known position over the chart by wind, tide and time."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        axis = torch.linspace(-1.0, 1.0, CHART, device=DEVICE)
        self.north, self.east = torch.meshgrid(axis, axis, indexing="ij")
        self.depth_bias = torch.rand(CHART, CHART, device=DEVICE, generator=generator).mul_(0.1).add_(0.95)
        self.berths = {
            name: torch.rand(2, device=DEVICE, generator=generator).sub_(0.5) for name in STATIONS
        }

    def spread(self, station, wind_knots, ebbing):
        at = self.berths[station]
        leeway = 0.012 * wind_knots
        set_of_tide = 0.15 if ebbing else -0.15
        along = self.north - at[0] - leeway
        across = self.east - at[1] - set_of_tide
        width = 0.05 + 0.006 * wind_knots
        chart = torch.exp(-(along ** 2 + across ** 2) / width) * self.depth_bias
        return chart.div_(chart.sum())


class SectorService:
    """Answers calls with the sector that is most likely to hold the casualty."""

    def __init__(self, drift):
        self.drift = drift
        self._charts = {}
        self.asked = 0
        self.reused = 0

    def chart_for(self, call):
        wind = nearest_band(call.wind_knots)
        key = (call.station, wind, call.ebbing)
        chart = self._charts.get(key)
        if chart is None:
            chart = self.drift.spread(call.station, wind, call.ebbing)
            self._charts[key] = chart
        else:
            self.reused += 1
        return chart

    def answer(self, call):
        self.asked += 1
        side = CHART // SECTORS
        mass = self.chart_for(call).view(SECTORS, side, SECTORS, side).sum(dim=(1, 3)).flatten()
        best = int(mass.argmax())
        return best // SECTORS, best % SECTORS, float(mass[best])


class Incident:
    """A running incident: weather that wanders and calls that come from one station."""

    def __init__(self, dice):
        self.dice = dice
        self.station = dice.choice(STATIONS)
        self.wind_knots = dice.uniform(4.0, 26.0)
        self.ebbing = dice.random() < 0.5
        self.calls_left = dice.randint(1, 5)

    def next_call(self):
        self.calls_left -= 1
        if self.dice.random() < 0.8:
            self.wind_knots = min(30.0, max(2.0, self.wind_knots + self.dice.gauss(0.0, 1.2)))
        return Call(self.station, self.wind_knots, self.ebbing)


def nearest_band(knots):
    return min(WIND_BANDS, key=lambda band: abs(band - knots))


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    dice = random.Random(42)
    service = SectorService(DriftChart(seed=43))
    until = time.monotonic() + seconds
    report_at = time.monotonic() + 2.0
    incident = Incident(dice)
    bands = dict.fromkeys(WIND_BANDS, 0)
    while time.monotonic() < until:
        if incident.calls_left == 0:
            incident = Incident(dice)
        call = incident.next_call()
        row, column, share = service.answer(call)
        bands[nearest_band(call.wind_knots)] += 1
        if time.monotonic() >= report_at:
            report_at += 3.0
            winds = ", ".join(f"{count} near {band:.0f} kn" for band, count in bands.items())
            print(f"{call.station}: search sector {row}-{column} ({share:.1%}); {service.asked} calls, "
                  f"{winds}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"{service.asked} calls answered, {service.reused} from charts at hand", flush=True)


if __name__ == "__main__":
    main()
