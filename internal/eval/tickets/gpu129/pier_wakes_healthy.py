"""Wash along a ferry pier from the arrivals of the day.

The piles of a pier are worn by the wash of each boat that comes in. The
harbour office logs for every arrival the height of the bow wave, the place
where it met the pier and the hour. From that log it works out, once in a
while, how the wash of the day adds up along the pier, with older arrivals
counting for less, and names the pile that has taken the most.

ticket: practice
class: none
"""

import math
import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 5.0
ROUNDS_AN_ASSESSMENT = 4
ARRIVALS_A_ROUND = 4
POINTS = 65536
PILES = 128
EARLY_ARRIVALS = 160
FADING = 600.0


@dataclass
class Arrival:
    """What the office writes down for one boat."""

    height: float
    place: float
    hour: float


class Pier:
    """Shape of the pier and exposure of its points to wash."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.along = torch.linspace(0.0, 1.0, POINTS, device=DEVICE)
        self.exposure = (0.7 + 0.6 * torch.rand((64, POINTS), generator=generator)).to(DEVICE)

    def exposed(self, total, tide):
        row = int((tide + 1.0) * 31.5)
        return total * self.exposure[row]


class ArrivalLog:
    """The arrivals of the day, in the order in which they came."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._arrivals = []
        self.hour = 0.0

    def __len__(self):
        return len(self._arrivals)

    def enter(self, count):
        for _ in range(count):
            self.hour += self._random.expovariate(20.0)
            height = self._random.lognormvariate(-0.8, 0.3)
            self._arrivals.append(Arrival(height, self._random.random(), self.hour))

    def table(self):
        rows = [(arrival.height, arrival.place, self.hour - arrival.hour) for arrival in self._arrivals]
        return torch.tensor(rows, dtype=torch.float32, device=DEVICE)


class WashModel:
    """Wash of all arrivals at all points of the pier."""

    def __init__(self, pier):
        self.pier = pier

    def wash(self, table):
        height, place, age = table.unbind(dim=1)
        weight = height * torch.exp(-age / FADING)
        wash = self.pier.along[None, :] - place[:, None]
        wash.square_().mul_(-180.0).exp_()
        return wash.mul_(weight[:, None])

    def total(self, log):
        total = torch.zeros(POINTS, device=DEVICE)
        for part in log.table().split(EARLY_ARRIVALS):
            total += self.wash(part).sum(dim=0)
        return total


class Office:
    """Keeps the log and reports the pile that suffers most."""

    def __init__(self, log, model):
        self.log = log
        self.model = model
        self.pile = 0
        self.worst = 0.0

    def assess(self, tide):
        total = self.model.total(self.log)
        load = self.model.pier.exposed(total, tide).reshape(PILES, -1).mean(dim=1)
        worst, pile = load.max(dim=0)
        self.worst = worst.item() / len(self.log)
        self.pile = pile.item()


def main():
    log = ArrivalLog(seed=31)
    log.enter(EARLY_ARRIVALS)
    office = Office(log, WashModel(Pier(seed=32)))
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        log.enter(ARRIVALS_A_ROUND)
        rounds += 1
        if rounds % ROUNDS_AN_ASSESSMENT == 0:
            office.assess(tide=math.sin(rounds / 50.0))
        if rounds % 16 == 0:
            print(f"arrivals {len(log):5d}  pile {office.pile:3d}  wash {office.worst:.4f}", flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"day ends after {len(log)} arrivals, worst pile {office.pile}", flush=True)


if __name__ == "__main__":
    main()
