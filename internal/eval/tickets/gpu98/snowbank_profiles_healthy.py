"""Profiles of the snowbanks that a rotary plough throws up along a mountain road.

The plough works its way up the pass in one long night. After each stretch the whole bank behind it, from the depot
up to the blower, is laid out anew as a table of cross sections, because wind reshapes all of it. From it come the
mean height and the steepest places, where the wardens put up their poles.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
OFFSETS = 1024
DEPOT_SECTIONS = 3600
SECTIONS_A_STRETCH = 42
STRETCHES_A_NIGHT = 600
STRETCHES_A_SECOND = 5
POLES = 6


@dataclass
class Weather:
    """Wind along the pass and the fresh snow of the hour."""

    wind: float
    fresh: float


class Pass:
    """The road: its bends, its shelter from the wind and the ground beside it."""

    def __init__(self, seed):
        sections = DEPOT_SECTIONS + SECTIONS_A_STRETCH * STRETCHES_A_NIGHT
        generator = torch.Generator().manual_seed(seed)
        bends = torch.randn(sections, generator=generator).cumsum(0)
        self.bends = (0.02 * bends).to(DEVICE)
        self.shelter = torch.rand(sections, generator=generator).to(DEVICE)
        self.offset = torch.linspace(-1.0, 1.0, OFFSETS, device=DEVICE)
        self.ground = (0.3 * torch.randn(OFFSETS, generator=generator).cumsum(0) / 32.0).to(DEVICE)
        self.sections = sections


class Survey:
    """Lays out the bank behind the blower and reads heights and slopes from it."""

    def __init__(self, road):
        self.road = road
        self.sheet = torch.empty(road.sections, OFFSETS, device=DEVICE)
        self.sections = DEPOT_SECTIONS

    def advance(self):
        self.sections += SECTIONS_A_STRETCH
        if self.sections > self.road.sections:
            self.sections = DEPOT_SECTIONS

    def lay_out(self, weather):
        road, count = self.road, self.sections
        bank = self.sheet[:count]
        torch.sub(road.offset[None, :], road.bends[:count, None], out=bank)
        bank.mul_(3.0 + 0.2 * weather.wind).sin_().add_(1.0)
        bank.mul_(road.shelter[:count, None]).mul_(1.2 + weather.fresh)
        bank.add_(road.ground[None, :])
        return bank

    def read(self, weather):
        bank = self.lay_out(weather)
        mean = float(bank.mean())
        crest = bank.amax(dim=1)
        trough = bank.amin(dim=1)
        steepest = (crest - trough).topk(POLES).indices
        return mean, float(crest.max()), sorted(steepest.tolist())


class Night:
    """Weather of the night, from stretch to stretch."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.weather = Weather(wind=6.0, fresh=0.2)

    def next(self):
        gust, flurry = torch.randn(2, generator=self.generator).tolist()
        self.weather.wind = min(14.0, max(0.0, self.weather.wind + 0.4 * gust))
        self.weather.fresh = min(1.0, max(0.0, self.weather.fresh + 0.02 * flurry))
        return self.weather


def main():
    torch.set_num_threads(1)
    survey = Survey(Pass(seed=1820))
    night = Night(seed=3)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    stretches = 0
    mean = highest = 0.0
    poles = []
    while time.monotonic() < end:
        began = time.monotonic()
        weather = night.next()
        mean, highest, poles = survey.read(weather)
        survey.advance()
        stretches += 1
        if time.monotonic() >= report_at:
            print(f"stretch {stretches}: wind {weather.wind:.1f} m/s, bank {mean:.2f} m, crest {highest:.2f} m, "
                  f"poles at {poles}", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / STRETCHES_A_SECOND - (time.monotonic() - began)))
    print(f"pass open after {stretches} stretches, highest crest {highest:.2f} m", flush=True)


if __name__ == "__main__":
    main()
