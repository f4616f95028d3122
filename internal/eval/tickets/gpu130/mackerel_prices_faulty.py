"""Price forecasts for the wholesale hall of a fish market.

Every trading day the desk simulates many possible price curves for each species, from the landings of the
fleet, the catch of the day before and the weather. The curves are drawn on the device. The desk compares them
with those of the day before, hour by hour, and advises the stalls when to sell.

ticket: practice
class: host-growth
holder: _curves
cause: results-kept cache-without-bound
"""
import os
import time
from dataclasses import dataclass

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
CURVES = 1024
QUARTERS = 96
LOOK_BACK_DAYS = 3
SPECIES = {"mackerel": 4.2, "herring": 2.1, "haddock": 6.8, "plaice": 7.5}


@dataclass(frozen=True)
class Landing:
    tonnes: float
    swell: float


@dataclass(frozen=True)
class Advice:
    species: str
    day: int
    sell_at: int
    expected: float
    shift: float


class PriceModel:
    """Mean-reverting price curves with a jump when a boat comes in late."""

    def __init__(self, seed):
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        hours = torch.linspace(0.0, 1.0, QUARTERS, device=DEVICE)
        self._demand = 1.0 + 0.25 * torch.exp(-((hours - 0.3) / 0.12).square()) - 0.3 * hours
        self._pull = torch.exp(-3.0 * hours.flip(0))

    def simulate(self, base, landing):
        level = base * (1.0 + 0.08 * landing.swell) / (1.0 + 0.004 * landing.tonnes)
        shocks = torch.randn(CURVES, QUARTERS, device=DEVICE, generator=self._generator)
        noise = torch.cumsum(shocks * self._pull, dim=1) * (0.01 * level)
        late = torch.rand(CURVES, 1, device=DEVICE, generator=self._generator) < 0.2
        curves = level * self._demand + noise
        return torch.where(late, curves * 0.93, curves).clamp_(min=0.1)


class TradingDesk:
    """Keeps the books of the day and advises the stalls."""

    def __init__(self, model):
        self.model = model
        self._curves = {}
        self.advised = 0

    def advise(self, species, day, landing):
        simulated = self.model.simulate(SPECIES[species], landing)
        cents = np.rint(simulated.cpu().numpy().astype(np.float64) * 100.0)  # grows
        self._curves[species, day] = cents  # keeps
        expected = cents.mean(axis=0)
        sell_at = int(expected.argmax())
        self.advised += 1
        return Advice(species, day, sell_at, expected[sell_at] / 100.0, self._shift(species, day, sell_at))

    def _shift(self, species, day, quarter):
        """How far the price of this quarter stands from the past days, in euros."""
        past = [
            self._curves[species, earlier][:, quarter].mean()
            for earlier in range(day - LOOK_BACK_DAYS, day)
            if (species, earlier) in self._curves
        ]
        if not past:
            return 0.0
        today = self._curves[species, day][:, quarter].mean()
        return float(today - np.mean(past)) / 100.0


class Harbour:
    """Landings of the fleet, with the swell as a slow walk."""

    def __init__(self, rng):
        self._rng = rng
        self._swell = 1.0

    def landing(self):
        self._swell = float(np.clip(self._swell + self._rng.normal(0.0, 0.15), 0.0, 4.0))
        tonnes = float(self._rng.gamma(6.0, 8.0)) / (1.0 + 0.3 * self._swell)
        return Landing(tonnes, self._swell)


def clock_of(quarter):
    return f"{quarter // 4:02d}:{quarter % 4 * 15:02d}"


def main():
    torch.set_num_threads(1)
    harbour = Harbour(np.random.default_rng(771))
    desk = TradingDesk(PriceModel(seed=772))
    names = list(SPECIES)
    started = time.monotonic()
    said = started
    rounds = 0
    while time.monotonic() - started < SECONDS:
        day, place = divmod(rounds, len(names))
        advice = desk.advise(names[place], day, harbour.landing())
        rounds += 1
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(f"day {advice.day}: sell {advice.species} at {clock_of(advice.sell_at)} for "
                  f"{advice.expected:.2f} ({advice.shift:+.2f})", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"books closed: {desk.advised} forecasts", flush=True)


if __name__ == "__main__":
    main()
