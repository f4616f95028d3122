"""Proving of dough for pretzels in climate chambers.

Lengths of dough rest in four chambers before they are twisted. For the batch in each chamber a field says how far
the gas has spread in the dough, computed once for the batch; sensors come by several times while it rests and compare
the rise they measure with the field. The chambers are then filled with the next batch.

ticket: practice
class: none
"""
import os
import random
import time
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
CHAMBERS = ["east", "west", "cellar", "loft"]
POSITIONS = 512
MOMENTS = 512
CHECKS_PER_BATCH = 5
CHECKS_A_SECOND = 8.0


@partial(jax.jit, static_argnames=("moments",))
def spread_of_gas(yeast, warmth, start, moments):
    """The gas in a length of dough by moment (rows) and position (columns)."""

    def step(gas, _):
        inner = jnp.roll(gas, 1) - 2.0 * gas + jnp.roll(gas, -1)
        made = yeast * warmth * (1.0 - gas) * 0.01
        gas = gas + 0.2 * inner + made
        return gas, gas

    _, field = jax.lax.scan(step, start, None, length=moments)
    return field


@jax.jit
def rise_at(field, moment, places):
    row = field[moment]
    return row[places].mean(), row.min()


class ClimateChamber:
    """A chamber with its warmth and the yeast of the dough in it."""

    def __init__(self, name, rng):
        self.name = name
        self.rng = rng
        self.fill()

    def fill(self):
        self.warmth = self.rng.uniform(0.8, 1.3)
        self.yeast = self.rng.uniform(0.7, 1.2)
        self.key = jax.random.key(self.rng.randrange(2 ** 31))

    def start(self):
        return 0.05 * jax.random.uniform(self.key, (POSITIONS,))


class ProvingRoom:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.chambers = [ClimateChamber(name, self.rng) for name in CHAMBERS]
        self._curves = {}
        self.batch = 1
        self.checks = 0
        self.ready = 0
        self.computed = 0

    def curve(self, chamber):
        """The field of the batch that rests in a chamber."""
        key = (chamber.name, self.batch)
        if key not in self._curves:
            field = spread_of_gas(chamber.yeast, chamber.warmth, chamber.start(), MOMENTS)
            self._curves[key] = field
            self.computed += 1
        return self._curves[key]

    def check(self, moment):
        """The sensors go round all chambers; returns the least risen place of each."""
        least = {}
        for chamber in self.chambers:
            places = jnp.asarray([self.rng.randrange(POSITIONS) for _ in range(6)])
            expected, lowest = rise_at(self.curve(chamber), moment, places)
            measured = float(expected) * self.rng.uniform(0.9, 1.1)
            if measured > 0.6:
                self.ready += 1
            least[chamber.name] = float(lowest)
        self.checks += 1
        return least

    def next_batch(self):
        for chamber in self.chambers:
            chamber.fill()
        self.batch += 1
        self._curves.clear()


class BakersClock:
    """Holds the pace of the sensors and says at which moment of the rest they come."""

    def __init__(self):
        self.visit = 0

    def next_moment(self):
        self.visit += 1
        return self.visit * (MOMENTS - 1) // CHECKS_PER_BATCH

    def rested(self):
        if self.visit < CHECKS_PER_BATCH:
            return False
        self.visit = 0
        return True


def main():
    room = ProvingRoom(seed=33)
    clock = BakersClock()
    least = room.check(0)
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        least = room.check(clock.next_moment())
        if clock.rested():
            room.next_batch()
        if round_begun - told > 2.0:
            told = round_begun
            shown = ", ".join(f"{name} {rise:.2f}" for name, rise in least.items())
            print(f"batch {room.batch}: {room.checks} checks, {room.ready} ready, least risen: {shown}", flush=True)
        time.sleep(max(0.01, 1.0 / CHECKS_A_SECOND - (time.monotonic() - round_begun)))
    print(f"done: {room.batch} batches, {room.computed} fields, {room.checks} checks", flush=True)


if __name__ == "__main__":
    main()
