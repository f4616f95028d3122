"""Scout bees look for a new home for a swarm.

Beekeepers watch how a swarm on a branch comes to a decision. Every scout
searches a piece of the landscape, comes back with a map of what it has
seen and dances for the sites on it; the other scouts are drawn to the
sites that are danced for most. Dances fade after a few rounds, and the
swarm leaves for a site once enough of them agree.

ticket: practice
class: none
"""

import gc
import math
import os
import random
import time
import weakref
from collections import deque

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 3.0
LAND = (512, 1024)
DANCES = 5
FADE = 4
REACH = 0.02
QUORUM = 6.0


class Landscape:
    """How good a home each place would be, for some kinds of weather."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.rows = torch.linspace(0.0, 1.0, LAND[0], device=DEVICE)[:, None]
        self.columns = torch.linspace(0.0, 2.0, LAND[1], device=DEVICE)[None, :]
        self.quality = torch.rand((12, *LAND), generator=generator).to(DEVICE)

    def distance(self, row, column):
        return (self.rows - row) ** 2 + (self.columns - column) ** 2


class Dance:
    """A waggle dance for one site of a trip."""

    def __init__(self, trip, row, column):
        self.trip = weakref.proxy(trip)
        self.row = row
        self.column = column

    def vigour(self):
        age = self.trip.age
        return float(self.trip.sights[self.row, self.column]) * math.exp(-age / 2.0)

    def place(self):
        return self.row / LAND[0], 2.0 * self.column / LAND[1]


class Trip:
    """One flight of a scout, with the map it brings home."""

    def __init__(self, scout, land, weather, row, column):
        self.scout = scout
        self.age = 0
        self.sights = land.quality[weather] * torch.exp(-land.distance(row, column) / REACH)
        best = self.sights.flatten().topk(DANCES).indices.tolist()
        self.dances = [Dance(self, index // LAND[1], index % LAND[1]) for index in best]


class Swarm:
    """The cluster on the branch and its scouts."""

    def __init__(self, land, seed):
        self.land = land
        self._random = random.Random(seed)
        self._recent = deque(maxlen=FADE)
        self._votes = {}
        self.trips = 0
        self.moves = 0

    def _destination(self):
        dances = [dance for trip in self._recent for dance in trip.dances]
        if not dances or self._random.random() < 0.3:
            return self._random.random(), 2.0 * self._random.random()
        weights = [0.01 + dance.vigour() for dance in dances]
        row, column = self._random.choices(dances, weights)[0].place()
        return row + self._random.gauss(0.0, 0.02), column + self._random.gauss(0.0, 0.02)

    def scout(self, weather):
        row, column = self._destination()
        self.trips += 1
        for trip in self._recent:
            trip.age += 1
        self._recent.append(Trip(self.trips, self.land, weather, row, column))

    def count(self):
        for trip in self._recent:
            for dance in trip.dances:
                row, column = dance.place()
                cell = (int(row * 8), int(column * 8))
                self._votes[cell] = self._votes.get(cell, 0.0) + dance.vigour()
        for cell in list(self._votes):
            self._votes[cell] *= 0.9

    def decide(self):
        if self._votes and max(self._votes.values()) > QUORUM:
            self.moves += 1
            self._votes.clear()


def main():
    gc.collect()
    gc.disable()
    swarm = Swarm(Landscape(seed=41), seed=42)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        swarm.scout(weather=rounds // 10 % 12)
        swarm.count()
        swarm.decide()
        gc.collect(0)
        rounds += 1
        if rounds % 9 == 0:
            print(f"trips {swarm.trips:4d}  moves {swarm.moves:3d}", flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"evening: {swarm.trips} trips, {swarm.moves} moves", flush=True)


if __name__ == "__main__":
    main()
