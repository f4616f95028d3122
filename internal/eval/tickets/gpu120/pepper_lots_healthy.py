"""Runs the store of a spice mill that grinds pepper.
Each lot comes in with a picture of its oils; lots for the stones are ground some seconds after they arrive, lots for
the shops leave the house whole. A picture serves for comparisons until eight seconds after it was last needed.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_S = 6
EXPIRE_S = 8.0
REST_ROUNDS = 6
PEPPERS = ("Malabar", "Lampong", "Kampot", "Sarawak")


class Lot:
    """A lot of peppercorns with the picture of its oils."""

    def __init__(self, number, pepper, oils, arrived):
        self.number = number
        self.pepper = pepper
        self.oils = oils
        self.arrived = arrived
        self.last_used = 0.0

    def use(self, now):
        self.last_used = now
        return self.oils


class Laboratory:
    """Takes pictures of the oils: a base by kind of pepper, and what the year made of it."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        self._base = {
            pepper: cp.asarray(self._random.random((512, 512), dtype=np.float32)) for pepper in PEPPERS
        }

    def picture(self, pepper):
        year = cp.asarray(self._random.standard_normal(512, dtype=np.float32))
        return self._base[pepper] + 0.1 * year[:, None]


class Store:
    def __init__(self, laboratory):
        self._laboratory = laboratory
        self._lots = {}
        self._arrivals = 0
        self.expired = 0

    def receive(self):
        self._arrivals += 1
        pepper = PEPPERS[self._arrivals % len(PEPPERS)]
        lot = Lot(self._arrivals, pepper, self._laboratory.picture(pepper), time.monotonic())
        self._lots[lot.number] = lot
        return lot.number

    def oils(self, number):
        return self._lots[number].use(time.monotonic())

    def expire(self):
        now = time.monotonic()
        due = [lot.number for lot in self._lots.values() if now - (lot.last_used or lot.arrived) > EXPIRE_S]
        for number in due:
            del self._lots[number]
        self.expired += len(due)


class Mill:
    """The stones: grind what has rested, and compare it with the lot before."""

    def __init__(self, store):
        self._store = store
        self._resting = deque()
        self._last = None
        self.ground = 0
        self.likeness = 0.0

    def plan(self, number):
        self._resting.append(number)

    def grind(self):
        if len(self._resting) <= REST_ROUNDS:
            return
        number = self._resting.popleft()
        oils = self._store.oils(number)
        if self._last is not None:
            before = self._store.oils(self._last)
            self.likeness = 1.0 - float(cp.abs(oils - before).mean())
        self._last = number
        self.ground += 1


class Shop:
    """Buys whole pepper by the lot number on the sack."""

    def __init__(self):
        self.bought = 0
        self.newest = 0

    def buy(self, number):
        self.bought += 1
        self.newest = number


def main():
    store = Store(Laboratory(seed=1498))
    mill, shop = Mill(store), Shop()
    start = time.monotonic()
    tick = start
    said = start
    while time.monotonic() - start < SECONDS:
        mill.plan(store.receive())
        shop.buy(store.receive())
        mill.grind()
        store.expire()
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(
                f"{said - start:5.1f} s: {mill.ground} lots ground, {shop.bought} sold whole (last {shop.newest}), "
                f"likeness {mill.likeness:.3f}, {store.expired} pictures expired",
                flush=True,
            )
        tick += 1.0 / ROUNDS_PER_S
        time.sleep(max(0.0, tick - time.monotonic()))
    print(f"mill stopped, {mill.ground} lots ground", flush=True)


if __name__ == "__main__":
    main()
