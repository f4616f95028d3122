"""Checks the firings of a pottery's kilns. A firing has two curves of temperature, the planned and the measured one;
both are attributes that are checked when they are set and brought to the same even grid of times. Firings come in
batches from the kilns' loggers, are judged and forgotten.

ticket: practice
class: host-growth
holder: values Curve
cause: entries-left cache-without-bound
"""

import os
import random
import time

import numpy as np

HOURS = 14.0
GRID = np.linspace(0, HOURS, 20_000)
CLAYS = {"earthenware": 1080, "stoneware": 1240, "porcelain": 1310}


class Curve:
    """An attribute that holds a curve of temperatures on the grid."""

    def __init__(self, highest=1400):
        self.highest = highest
        self.values = {}

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, firing, owner=None):
        if firing is None:
            return self
        return self.values[firing]

    def __set__(self, firing, samples):
        hours, degrees = samples
        if np.any(np.diff(hours) <= 0):
            raise ValueError(f"{self.name}: the times do not increase")
        if degrees.max() > self.highest:
            raise ValueError(f"{self.name}: {degrees.max():.0f} degrees are too hot")
        self.values[firing] = np.interp(GRID, hours, degrees)  # grows keeps


class Firing:
    planned = Curve()
    measured = Curve(highest=1500)

    def __init__(self, kiln, clay, planned, measured):
        self.kiln, self.clay = kiln, clay
        self.planned = planned  # grows
        self.measured = measured  # grows

    def deviation(self):
        return float(np.sqrt(np.mean((self.planned - self.measured) ** 2)))

    def heat_work(self):
        """Degree hours above 900 degrees, on which the melting of the glaze depends."""
        hot = np.clip(self.measured - 900, 0, None)
        return float(hot.mean() * HOURS)


def logged(rng, kiln):
    """A firing as the logger of the kiln gives it: few planned points, many measured ones."""
    clay = random.choice(list(CLAYS))
    points = np.array([0.0, 2.5, 6.0, 8.5, 9.0, HOURS])
    planned = np.array([20, 120, 600, CLAYS[clay], CLAYS[clay], 150]) * 1.0
    hours = np.sort(rng.choice(GRID, 800, replace=False))
    measured = np.interp(hours, points, planned) + np.cumsum(rng.normal(0, 0.8, hours.size))
    return Firing(kiln, clay, (points, planned), (hours, measured))  # grows


def main():
    rng, judged, spoiled = np.random.default_rng(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(2, 6)):
            firing = logged(rng, f"kiln {random.randint(1, 5)}")
            judged += 1
            if firing.deviation() > 15 or firing.heat_work() < 500:
                spoiled += 1
        if random.random() < 0.1:
            print(f"{judged} firings, {spoiled} spoiled; {firing.kiln} burnt {firing.clay} last", flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
