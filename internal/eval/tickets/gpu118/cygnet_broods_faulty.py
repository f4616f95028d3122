"""Broods of cygnets on a swan lake.

Pairs of swans lead their broods over the lake for a while and then go ashore in the reeds.
Each brood spreads a field of grazing over its part of the water, and wind and dusk are told to all that swim.
The model adds up how much waterweed the broods leave for the moulting flock.

ticket: practice
class: app-leak
holder: _at_dusk
cause: callbacks-left
"""
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
ROUNDS_TO_DUSK = 16
SWIM_ROUNDS = 12
WATER = 1024
REACH = 362


class Brood:
    """Two parents with their cygnets, grazing a square of water around them."""

    def __init__(self, number, cygnets, row, column):
        self.number = number
        self.cygnets = cygnets
        self.row = row
        self.column = column
        self.rounds_left = SWIM_ROUNDS
        self.appetite = 0.02 * cygnets
        self.grazing = torch.zeros(REACH, REACH, device=DEVICE)  # grows

    @property
    def area(self):
        return slice(self.row, self.row + REACH), slice(self.column, self.column + REACH)

    def graze(self, weed):
        bite = weed[self.area] * self.appetite
        weed[self.area] -= bite
        self.grazing += bite
        self.rounds_left -= 1

    def drift(self, rows, columns):
        self.row = max(0, min(WATER - REACH, self.row + rows))
        self.column = max(0, min(WATER - REACH, self.column + columns))

    def roost(self, evening):
        if self.rounds_left > 0:
            self.appetite *= 0.8 if evening % 2 else 1.1


class Lake:
    """The weed on the water, and the signals that every swimmer hears."""

    def __init__(self, seed):
        random_rows = torch.Generator().manual_seed(seed)
        self.weed = torch.rand(WATER, WATER, generator=random_rows).to(DEVICE)
        self.depth = torch.rand(8, WATER, WATER, generator=random_rows).to(DEVICE)
        self._at_dusk = []
        self.evening = 0

    def hear_dusk(self, listener):
        self._at_dusk.append(listener)  # keeps

    def stop_hearing(self, listener):
        self._at_dusk.remove(listener)

    def grow(self):
        light = torch.exp(-self.depth[self.evening % 8])
        self.weed.add_(0.01 * light).clamp_(0.0, 1.0)

    def dusk(self):
        self.evening += 1
        for listener in list(self._at_dusk):
            listener(self.evening)


class Season:
    """Sends broods out, moves them with the wind and takes them ashore."""

    def __init__(self, lake, seed):
        self.lake = lake
        self.chance = random.Random(seed)
        self.swimming = []
        self.hatched = 0
        self.eaten = 0.0

    def launch(self):
        self.hatched += 1
        place = self.chance.randrange(WATER - REACH), self.chance.randrange(WATER - REACH)
        brood = Brood(self.hatched, self.chance.randint(2, 7), *place)
        self.lake.hear_dusk(brood.roost)
        self.swimming.append(brood)

    def land(self, brood):
        self.swimming.remove(brood)
        self.eaten += brood.grazing.sum().item()

    def round(self):
        self.launch()
        wind = self.chance.randint(-6, 6), self.chance.randint(-6, 6)
        for brood in list(self.swimming):
            brood.graze(self.lake.weed)
            brood.drift(*wind)
            if brood.rounds_left == 0:
                self.land(brood)
        self.lake.grow()


def main():
    torch.set_num_threads(1)
    lake = Lake(seed=8)
    season = Season(lake, seed=9)
    start = due = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        season.round()
        rounds += 1
        if rounds % ROUNDS_TO_DUSK == 0:
            lake.dusk()
            print(f"evening {lake.evening}: {len(season.swimming)} broods on the water, "
                  f"weed {lake.weed.mean().item():.3f}, eaten {season.eaten:.0f}", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"season over: {season.hatched} broods, {season.eaten:.0f} of weed eaten", flush=True)


if __name__ == "__main__":
    main()
