"""Gate keeping on a mill race.

A gauge at the head of the race publishes level and flow several times a second. Grinding orders are worked off
one after the other; each order is put in the hands of a gate keeper, who follows the gauge, looks up the opening in
a rating surface worked out for the grain and the stones of that order, and goes home when the order is ground.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
LEVELS = 220
FLOWS = 320
GRAINS = {"wheat": 1.0, "rye": 1.15, "oats": 0.8, "barley": 1.3}


@dataclass(frozen=True)
class Reading:
    level: float
    flow: float


@dataclass
class Order:
    number: int
    grain: str
    sacks: float


class Gauge:
    """Level and flow at the head of the race, passed on to all who follow it."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.level = 1.2
        self.flow = 0.6
        self._listeners = []

    def follow(self, listener):
        self._listeners.append(listener)

    def unfollow(self, listener):
        self._listeners = [known for known in self._listeners if known != listener]

    def publish(self):
        self.level = float(np.clip(self.level + 0.1 * (1.2 - self.level) + self.rng.normal(0.0, 0.05), 0.5, 2.0))
        self.flow = float(np.clip(self.flow + 0.1 * (0.6 - self.flow) + self.rng.normal(0.0, 0.04), 0.2, 1.2))
        reading = Reading(self.level, self.flow)
        for listener in self._listeners:
            listener(reading)


class GateKeeper:
    """Keeps the gate for one order."""

    def __init__(self, order, stones):
        self.order = order
        self.opening = 0.0
        self.ground = 0.0
        self.surface = self.rating_surface(GRAINS[order.grain], stones)

    @staticmethod
    def rating_surface(resistance, stones):
        level = np.linspace(0.5, 2.0, LEVELS)[:, None]
        flow = np.linspace(0.2, 1.2, FLOWS)[None, :]
        power = 9.81 * flow * level * 0.62
        wanted = resistance * stones * 2.4
        return np.clip(wanted / (power + 0.1), 0.05, 1.0)

    def on_reading(self, reading):
        if self.done():
            return
        row = int((reading.level - 0.5) / 1.5 * (LEVELS - 1))
        column = int((reading.flow - 0.2) / 1.0 * (FLOWS - 1))
        self.opening = float(self.surface[row, column])
        self.ground += self.opening * reading.flow * reading.level / GRAINS[self.order.grain]

    def done(self):
        return self.ground >= self.order.sacks


class Mill:
    def __init__(self, seed, pairs_of_stones):
        self.rng = np.random.default_rng(seed)
        self.gauge = Gauge(seed + 1)
        self.pairs_of_stones = pairs_of_stones
        self.keepers = []
        self.orders = 0
        self.sacks = 0.0

    def next_order(self):
        self.orders += 1
        grain = str(self.rng.choice(list(GRAINS)))
        return Order(self.orders, grain, float(self.rng.uniform(1.5, 5.0)))

    def take_on(self):
        keeper = GateKeeper(self.next_order(), stones=float(self.rng.uniform(0.8, 1.6)))
        self.gauge.follow(keeper.on_reading)
        self.keepers.append(keeper)

    def send_home(self, keeper):
        self.gauge.unfollow(keeper.on_reading)
        self.keepers.remove(keeper)
        self.sacks += keeper.ground

    def work(self):
        while len(self.keepers) < self.pairs_of_stones:
            self.take_on()
        self.gauge.publish()
        for keeper in [keeper for keeper in self.keepers if keeper.done()]:
            self.send_home(keeper)


def main():
    mill = Mill(seed=33, pairs_of_stones=6)
    started = time.monotonic()
    report_due = started + 2.0
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        mill.work()
        if time.monotonic() >= report_due:
            mean = sum(keeper.opening for keeper in mill.keepers) / max(1, len(mill.keepers))
            print(f"order {mill.orders}: level {mill.gauge.level:.2f} m, mean opening {mean:.2f}", flush=True)
            report_due += 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - round_start)))
    print(f"race closed: {mill.orders} orders, {mill.sacks:.0f} sacks ground", flush=True)


if __name__ == "__main__":
    main()
