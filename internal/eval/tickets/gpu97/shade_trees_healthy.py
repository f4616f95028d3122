"""Light under the shade trees of a tea garden.

A garden keeps silver oaks and albizias among its bushes. For each plot and each hour of the day the
light that reaches the plucking table is cast from the crowns, and the day's photosynthesis of a
plot follows from it and from the cloud cover. The manager sees which plots need lopping.

ticket: practice
class: none
"""
import math
import os
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
GRID = 512
HOURS = 12
ROUNDS_PER_SECOND = 10
PLOTS = ("Upper Ridge", "Temple Side", "Old Nursery")


@dataclass
class Plot:
    name: str
    crowns: torch.Tensor  # x, y, radius, density of each tree
    vigour: torch.Tensor


def plant_plot(name, generator):
    trees = 10
    crowns = torch.rand(trees, 4, generator=generator)
    crowns[:, 2] = 0.03 + 0.06 * crowns[:, 2]
    crowns[:, 3] = 0.3 + 0.5 * crowns[:, 3]
    vigour = 0.7 + 0.3 * torch.rand(GRID, GRID, generator=generator)
    return Plot(name, crowns, vigour.to(DEVICE))


class LightTable:
    """Share of the sun's light that reaches the bushes, by plot and by bearing of the sun."""

    def __init__(self):
        axis = torch.linspace(0.0, 1.0, GRID, device=DEVICE)
        self.north, self.east = torch.meshgrid(axis, axis, indexing="ij")
        self._maps = {}
        self.cast = 0

    def light(self, plot, bearing):
        key = (plot.name, bearing)
        found = self._maps.get(key)
        if found is None:
            found = self._cast(plot, bearing)
            self._maps[key] = found
        return found

    def _cast(self, plot, bearing):
        self.cast += 1
        light = torch.ones(GRID, GRID, device=DEVICE)
        lean = 0.12 * math.cos(math.radians(bearing))
        reach = 0.05 * math.sin(math.radians(bearing))
        for x, y, radius, density in plot.crowns.tolist():
            away = (self.east - x - lean) ** 2 + (self.north - y - reach) ** 2
            light.sub_(density * torch.exp(-away / (2.0 * radius * radius)))
        return light.clamp_(0.05, 1.0)


class Garden:
    def __init__(self):
        generator = torch.Generator().manual_seed(411)
        self.generator = generator
        self.plots = [plant_plot(name, generator) for name in PLOTS]
        self.table = LightTable()
        self.yields = {plot.name: 0.0 for plot in self.plots}
        self.day = 0

    def sun_bearings(self):
        return torch.linspace(90.0, 270.0, HOURS)

    def cloud(self):
        return 0.4 + 0.6 * float(torch.rand((), generator=self.generator))

    def hours(self):
        """One plot at one hour after the other, day after day."""
        while True:
            for bearing in self.sun_bearings().tolist():
                for plot in self.plots:
                    yield plot, bearing
            self.day += 1

    def assimilate(self, plot, bearing):
        light = self.table.light(plot, bearing) * self.cloud()
        gain = plot.vigour * light / (light + 0.35)
        mean = float(gain.mean())
        self.yields[plot.name] = 0.98 * self.yields[plot.name] + 0.02 * mean
        return mean

    def darkest(self):
        return min(self.yields, key=self.yields.get)


def main():
    garden = Garden()
    start = time.monotonic()
    next_line = start + 3.0
    rounds = 0
    for plot, bearing in garden.hours():
        if time.monotonic() - start >= SECONDS:
            break
        garden.assimilate(plot, bearing)
        rounds += 1
        if time.monotonic() >= next_line:
            next_line += 3.0
            print(f"day {garden.day}: {rounds} plot hours, darkest plot {garden.darkest()}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"done: {garden.day} days, lop first at {garden.darkest()}", flush=True)


if __name__ == "__main__":
    main()
