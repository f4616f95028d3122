"""A year on a sheep farm, played at the speed of a few days a second.

Ewes with collars graze on four pastures. Every tick each ewe takes a bite, the grass recovers, and the collar
writes a stretch of its trail; a small network on the accelerator estimates from appetite, age and grass what
each ewe puts on in weight, and is fitted to the scales. The heaviest ewes go to market and young ones come
from the breeder in their place, with new ear tags. The herd book finds a ewe by her tag.

ticket: practice
class: none
"""
import itertools
import os
import random
import time
from collections import deque, namedtuple

import numpy as np
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"

HERD = 240
TRADED = 3
TICKS_PER_SECOND = 16.0
TRAIL = 20480

Meal = namedtuple("Meal", "tick grass bite")


class Ewe:
    def __init__(self, tag, rng):
        self.tag = tag
        self.weight = rng.uniform(28.0, 40.0)
        self.appetite = rng.uniform(0.6, 1.4)
        self.age = rng.randrange(90, 200)
        self.meals = deque(maxlen=60)
        self.trail = np.full((TRAIL, 2), np.nan, dtype=np.float32)
        self.steps = 0

    def graze(self, tick, pasture):
        bite = self.appetite * pasture.grass * random.uniform(0.8, 1.2)
        pasture.grass = max(0.05, pasture.grass - bite * 1e-3)
        self.meals.append(Meal(tick, pasture.grass, bite))
        at = self.steps % TRAIL
        self.trail[at:at + 16] = pasture.corner + random.random()
        self.steps += 16
        self.age += 1
        return bite


class Pasture:
    def __init__(self, name, corner):
        self.name = name
        self.corner = np.float32(corner)
        self.grass = 1.0
        self.ewes = []

    def recover(self):
        self.grass += 0.15 * self.grass * (1.2 - self.grass)


class HerdBook:
    def __init__(self):
        self.by_tag = {}
        self.tags = itertools.count(1)

    def enter(self, rng):
        ewe = Ewe(next(self.tags), rng)
        self.by_tag[ewe.tag] = ewe
        return ewe


class Farm:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.book = HerdBook()
        self.pastures = [Pasture(name, i * 100.0) for i, name in enumerate(("brook", "hill", "oak", "lane"))]
        for turn in range(HERD):
            self.pastures[turn % 4].ewes.append(self.book.enter(self.rng))
        self.scales = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.scales.parameters(), lr=0.02)
        self.income = 0.0

    def graze(self, tick):
        rows, ewes = [], []
        for pasture in self.pastures:
            for ewe in pasture.ewes:
                bite = ewe.graze(tick, pasture)
                rows.append((ewe.appetite, ewe.age / 365.0, pasture.grass, bite))
                ewes.append(ewe)
            pasture.recover()
        return ewes, torch.tensor(rows, device=device)

    def weigh(self, ewes, rows):
        gains = self.scales(rows).squeeze(-1)
        truth = 0.3 * rows[:, 3] - 0.1 * rows[:, 1]
        loss = (gains - truth).square().mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        for ewe, gain in zip(ewes, gains.detach().cpu().tolist()):
            ewe.weight += min(1.0, max(-0.2, gain))
        return loss.item()

    def trade(self):
        grazing = [(ewe.weight, ewe.tag, pasture) for pasture in self.pastures for ewe in pasture.ewes]
        for weight, tag, pasture in sorted(grazing, key=lambda row: row[:2], reverse=True)[:TRADED]:
            pasture.ewes.remove(self.book.by_tag.pop(tag))
            pasture.ewes.append(self.book.enter(self.rng))
            self.income += 2.4 * weight

    def grass(self):
        return ", ".join(f"{pasture.name} {pasture.grass:.2f}" for pasture in self.pastures)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    farm = Farm(seed=4)
    for tick in itertools.count():
        started = time.time()
        if started > end:
            break
        loss = farm.weigh(*farm.graze(tick))
        farm.trade()
        if tick % 64 == 0:
            print(f"day {tick}: grass {farm.grass()}; income {farm.income:.0f}; loss {loss:.4f}", flush=True)
        time.sleep(max(0.0, 1.0 / TICKS_PER_SECOND - (time.time() - started)))


if __name__ == "__main__":
    main()
