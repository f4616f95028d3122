"""Lets snow fall on a village and drift, with cupy (a GPU only). Every now and then the cloud lets go of some more
flakes, which are added to those that are on their way already or lie on the ground. From time to time the depth of the
snow is drawn onto a map of the village.

ticket: practice
class: pool-growth
holder: -
cause: fragmentation pool-never-trims
"""

import os
import random
import time

import cupy as cp

FIRST, FLAKES, MOST, SIDE = 98_304, 1024, 262_144, 128


class Snow:
    """Flakes with where they are and how they fly."""

    def __init__(self):
        self.places, self.speeds = self.fresh(FIRST)
        self.places[:, 2] *= cp.linspace(0, 1, FIRST, dtype=cp.float32)

    @staticmethod
    def fresh(number):
        """New flakes, all over the village and high up."""
        places = cp.random.random((number, 3), dtype=cp.float32)
        speeds = cp.zeros((number, 3), cp.float32)
        speeds[:, 2] = -0.02
        return places, speeds

    def add(self):
        places, speeds = self.fresh(FLAKES)
        self.places = cp.concatenate([self.places, places])[-MOST:]  # grows keeps
        self.speeds = cp.concatenate([self.speeds, speeds])[-MOST:]  # grows keeps

    def move(self, wind):
        """Wind takes the flakes along, more of it higher up; on the ground they stay."""
        gust = cp.sin(9 * self.places + wind) * self.places[:, 2:]  # grows
        self.speeds = 0.95 * self.speeds + 0.002 * gust  # grows
        self.speeds[:, 2] -= 0.0005
        self.places = self.places + self.speeds * (self.places[:, 2:] > 0)  # grows
        self.places[:, :2] %= 1
        self.places[:, 2] = cp.maximum(self.places[:, 2], 0)

    def depth(self):
        """How many flakes lie on each place of the map."""
        lies = (self.places[:, 2] <= 0).astype(cp.float32)
        cells = (self.places[:, 0] * SIDE).astype(cp.int32).clip(0, SIDE - 1) * SIDE
        cells += (self.places[:, 1] * SIDE).astype(cp.int32).clip(0, SIDE - 1)
        return cp.bincount(cells, weights=lies, minlength=SIDE * SIDE).reshape(SIDE, SIDE)


def main():
    end, said, steps = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
    snow, wind = Snow(), 0.0
    while time.time() < end:
        snow.add()
        for _ in range(4):
            wind += random.uniform(0, 0.3)
            snow.move(wind)
            steps += 1
            time.sleep(random.uniform(0.05, 0.2))
        if time.time() - said > 2:
            said = time.time()
            depth = snow.depth()
            print("step", steps, "deepest", float(depth.max()), "mean", round(float(depth.mean()), 3), flush=True)


if __name__ == "__main__":
    main()
