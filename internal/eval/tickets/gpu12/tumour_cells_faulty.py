"""A tumour grows in a dish, cell by cell, with cupy: cells wander, are crowded by others around them, and divide where
there is room. A cell is an entry in each of some arrays, to which the new cells of an hour are appended; so what is
worked out for each cell is a little larger in every hour than in the one before. It needs a GPU.

ticket: practice
class: pool-growth
holder: -
cause: pool-never-trims fragmentation
"""

import os
import random
import time

import cupy as cp

GRID, START, BIRTHS = 192, 60000, (128, 192, 256)
AROUND = [dy * GRID + dx for dy in (-1, 0, 1) for dx in (-1, 0, 1)]


class Dish:
    """The cells, and the sugar that they eat."""

    def __init__(self):
        angle = 6.2832 * cp.random.random(START, dtype=cp.float32)
        far = 0.2 * GRID * cp.sqrt(cp.random.random(START, dtype=cp.float32))
        self.x, self.y = GRID / 2 + far * cp.cos(angle), GRID / 2 + far * cp.sin(angle)
        self.age = 24 * cp.random.random(START, dtype=cp.float32)
        self.sugar = cp.ones((GRID, GRID), cp.float32)
        self.around = cp.asarray(AROUND, cp.int32)

    def count(self):
        return len(self.x)

    def places(self):
        """The square of the dish that each cell is in."""
        return self.y.astype(cp.int32) * GRID + self.x.astype(cp.int32)

    def crowding(self, places):
        """How many cells are near each cell."""
        density = cp.bincount(places, minlength=GRID * GRID).astype(cp.float32)
        near = cp.clip(places[:, None] + self.around, 0, GRID * GRID - 1)  # grows
        return density, density[near].sum(1)  # grows

    def wander(self, crowd):
        step = 0.05 + 0.002 * cp.minimum(crowd, 100)
        self.x = cp.clip(self.x + step * cp.random.standard_normal(self.count(), dtype=cp.float32), 1, GRID - 2)
        self.y = cp.clip(self.y + step * cp.random.standard_normal(self.count(), dtype=cp.float32), 1, GRID - 2)
        self.age = self.age + 1

    def feed(self, density):
        sugar = self.sugar
        near = cp.roll(sugar, 1, 0) + cp.roll(sugar, -1, 0) + cp.roll(sugar, 1, 1) + cp.roll(sugar, -1, 1)
        sugar = 0.2 * sugar + 0.2 * near - 0.002 * density.reshape(GRID, GRID) * sugar
        self.sugar = cp.clip(sugar + 0.02 * (1 - sugar), 0, 1)

    def divide(self, crowd, places, births):
        """The best placed of some cells drawn get a daughter."""
        drawn = cp.random.randint(0, self.count(), 8 * births)
        fit = self.age[drawn] / 24 + 4 * self.sugar.ravel()[places[drawn]] - 0.02 * crowd[drawn]
        mothers = drawn[cp.argsort(-fit)[:births]]
        self.age[mothers] = 0
        shift = 0.5 * cp.random.standard_normal((2, births), dtype=cp.float32)
        self.x = cp.concatenate([self.x, cp.clip(self.x[mothers] + shift[0], 1, GRID - 2)])
        self.y = cp.concatenate([self.y, cp.clip(self.y[mothers] + shift[1], 1, GRID - 2)])
        self.age = cp.concatenate([self.age, cp.zeros(births, cp.float32)])

    def hour(self, births):
        places = self.places()
        density, crowd = self.crowding(places)
        self.feed(density)
        self.divide(crowd, places, births)
        density, crowd = self.crowding(self.places())
        self.wander(crowd)
        return crowd.mean()


def main():
    cp.random.seed(0)
    dish, hours = Dish(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        crowd = dish.hour(random.choice(BIRTHS))
        hours += 1
        if hours % 10 == 0:
            print("hour", hours, dish.count(), "cells, crowded by", round(float(crowd), 1), "sugar",
                  round(float(dish.sugar.mean()), 3), flush=True)
        time.sleep(random.uniform(0.2, 0.6))


if __name__ == "__main__":
    main()
