"""A fish market at dawn: boats land their catch, graders sort it, and later the Dutch clock begins to sell.

In the first part of the morning only landing and grading go on, which build up a picture of the day's supply. When the
clock opens, each lot is put up with a price that falls along a curve; the curve depends on the species, the weight and
the freshness of the lot, and is asked for by the clock, the display over the stands and each buyer's agent.

ticket: practice
class: none
"""
import os
import time
from collections import namedtuple

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
SPECIES = ("turbot", "brill", "sole", "plaice", "monkfish", "hake")
BASE_PRICE = np.array([24.0, 17.0, 21.0, 6.0, 13.0, 9.0])
ROUNDS_PER_SECOND = 8
CLOCK_OPENS = 40.0
LOTS_PER_ROUND = 4
TICKS = 16384
CURVES_AT_HAND = 48

Lot = namedtuple("Lot", "species grams freshness")


class LandingQuay:
    """Boats land boxes; the grader compares each with the season's reference images."""

    def __init__(self, rng):
        self.rng = rng
        self.references = rng.random((len(SPECIES), 60, 128, 128), dtype=np.float32)
        self.landed = np.zeros(len(SPECIES))

    def land(self):
        species = int(self.rng.integers(len(SPECIES)))
        grams = int(self.rng.gamma(4.0, 900.0)) + 400
        picture = self.rng.random((128, 128), dtype=np.float32)
        distance = np.abs(self.references[species, ::6] - picture).mean(axis=(1, 2))
        self.landed[species] += grams / 1000.0
        return Lot(species, grams, round(float(distance.min()) * 3.0, 4))

    def scarcity(self):
        total = self.landed.sum()
        return 1.0 + 0.4 * (1.0 / len(SPECIES) - self.landed / max(total, 1.0))


class PriceBook:
    """Falling price curves of the clock, worked out on demand."""

    def __init__(self):
        self._curves = {}
        self.asked = 0
        self.computed = 0

    def curve(self, lot, scarcity):
        self.asked += 1
        found = self._curves.get(lot)
        if found is None:
            found = self._work_out(lot, scarcity)
            self._curves[lot] = found
            if len(self._curves) > CURVES_AT_HAND:
                self._curves.pop(next(iter(self._curves)))
        return found

    def _work_out(self, lot, scarcity):
        self.computed += 1
        opening = BASE_PRICE[lot.species] * scarcity[lot.species] * (1.6 - 0.3 * lot.freshness)
        steepness = 2.0 + lot.grams / 4000.0
        progress = np.linspace(0.0, 1.0, TICKS)
        return opening * np.exp(-steepness * progress * progress)


class Agent:
    """Buys for a restaurant or a wholesaler, at the tick where the price meets its limit."""

    def __init__(self, name, rng):
        self.name = name
        self.limits = BASE_PRICE * rng.uniform(0.7, 1.2, size=len(SPECIES))
        self.spent = 0.0

    def tick_to_press(self, lot, curve):
        return int(np.searchsorted(-curve, -self.limits[lot.species]))


class ClockHall:
    """The hall where the clock runs; it sells what the quay sends."""

    def __init__(self, rng):
        self.book = PriceBook()
        self.agents = [Agent(f"agent {number}", rng) for number in range(9)]
        self.sold = 0
        self.display = 0.0

    def sell(self, lot, scarcity):
        self.display = float(self.book.curve(lot, scarcity)[0])
        ticks = [agent.tick_to_press(lot, self.book.curve(lot, scarcity)) for agent in self.agents]
        first = int(np.argmin(ticks))
        if ticks[first] >= TICKS:
            return None
        price = float(self.book.curve(lot, scarcity)[ticks[first]])
        self.agents[first].spent += price * lot.grams / 1000.0
        self.sold += 1
        return price


def main():
    rng = np.random.default_rng(2203)
    quay = LandingQuay(rng)
    hall = ClockHall(rng)
    started = printed = time.monotonic()
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        lots = [quay.land() for _ in range(LOTS_PER_ROUND)]
        if turn - started >= CLOCK_OPENS:
            scarcity = quay.scarcity()
            for lot in lots:
                hall.sell(lot, scarcity)
        if turn - printed >= 3.0:
            printed = turn
            print(f"landed {quay.landed.sum():.0f} kg, sold {hall.sold} lots, display {hall.display:.2f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    takings = sum(agent.spent for agent in hall.agents)
    print(f"market closed: {hall.sold} lots, {takings:.0f} taken, {hall.book.asked} looks at the clock", flush=True)


if __name__ == "__main__":
    main()
