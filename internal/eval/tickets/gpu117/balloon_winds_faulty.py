"""Wind briefing for a hot air balloon festival.

Pilots at four launch fields ask for the wind along their climb. For every request the service
interpolates a coarse forecast column to the heights of the climb, derives the shear between the
layers and answers with a drift and a go or no-go. Pilots of one field often ask for the same
climb again, so derived columns are shared between requests.

ticket: practice
class: app-leak
holder: _by_site
cause: cache-without-bound
"""
import os
import time
from collections import OrderedDict
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 5
SITES = ("meadow", "racecourse", "lakeside", "airfield")
LAYERS = 96
MEMBERS = 320
COLUMNS_PER_SITE = 4
SHEAR_LIMIT = 2.6

torch.set_num_threads(1)


@dataclass(frozen=True)
class Climb:
    pilot: int
    site: str
    minute: int
    ceiling: float


class Forecast:
    """A coarse ensemble of wind columns, one for each launch field."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.columns = {
            site: torch.randn(2, 4096, MEMBERS, generator=self.generator, device=DEVICE)
            for site in SITES
        }

    def column(self, site, minute):
        level = minute % (self.columns[site].shape[1] - LAYERS)
        return self.columns[site][:, level:level + LAYERS]


class ShearTable:
    """Shear of the climbs that have been asked for, by field and climb."""

    def __init__(self, forecast, capacity):
        self.forecast = forecast
        self.capacity = capacity
        self._by_site = {site: OrderedDict() for site in SITES}
        self.hits = 0
        self.misses = 0

    def lookup(self, climb):
        columns = self._by_site[climb.site]
        key = (climb.minute, round(climb.ceiling))
        if key in columns:
            self.hits += 1
            columns.move_to_end(key)
            return columns[key]
        self.misses += 1
        shear = self._derive(climb)
        columns[key] = shear  # keeps
        if len(self._by_site) > self.capacity:
            self._by_site.popitem()
        return shear

    def _derive(self, climb):
        wind = self.forecast.column(climb.site, climb.minute)
        heights = torch.linspace(0.0, climb.ceiling / 1000.0, LAYERS, device=DEVICE)
        speed = wind.pow(2).sum(dim=0).sqrt()
        return speed * (1.0 + heights.unsqueeze(1))  # grows


class BriefingDesk:
    def __init__(self, table):
        self.table = table
        self.cleared = 0
        self.refused = 0

    def brief(self, climb):
        shear = self.table.lookup(climb)
        steps = (shear[1:] - shear[:-1]).abs()
        worst = float(steps.mean(dim=1).max())
        if worst > SHEAR_LIMIT:
            self.refused += 1
            return None
        self.cleared += 1
        return float(shear.mean()) * climb.ceiling / 100.0


def next_climb(index):
    site = SITES[index % len(SITES)]
    ceiling = 600.0 + 45.0 * (index * 7 % 20)
    return Climb(pilot=100 + index % 37, site=site, minute=index // 2, ceiling=ceiling)


def main():
    table = ShearTable(Forecast(seed=31), COLUMNS_PER_SITE)
    desk = BriefingDesk(table)
    start = time.monotonic()
    index = 0
    drift = 0.0
    last_line = start
    while time.monotonic() - start < SECONDS:
        climb = next_climb(index)
        for _ in range(2):
            answer = desk.brief(climb)
            if answer is not None:
                drift = 0.9 * drift + 0.1 * answer
        index += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  climbs {index}  cleared {desk.cleared}  refused {desk.refused}"
                  f"  mean drift {drift:.1f} m  shared {table.hits}/{table.hits + table.misses}", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"briefing closed after {index} climbs, {desk.cleared} cleared", flush=True)


if __name__ == "__main__":
    main()
