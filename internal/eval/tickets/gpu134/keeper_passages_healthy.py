"""Passages through a staircase of locks, as the lock keepers follow them.

Boats register at the first gate and get a field of the wash that they make along the chamber walls. While they
climb, the field is stepped forward; large boats leave at the top by themselves, small ones are handed over to
the tow for the tunnel. The keepers sum up the wear on the walls at each departure.

ticket: practice
class: none
"""
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
CLIMB_ROUNDS = 16
DEPTHS, ALONG = 192, 2048
SMALL_METRES = 14.0


@dataclass
class Boat:
    number: int
    metres: float
    arrived: int

    @property
    def small(self):
        return self.metres < SMALL_METRES


class Arrivals:
    """A narrow boat and a barge by turns, each of its own length."""

    def __init__(self, seed=404):
        self.rng = random.Random(seed)
        self.count = 0

    def next_boat(self, moment):
        self.count += 1
        metres = self.rng.uniform(7.0, 13.5) if self.count % 2 else self.rng.uniform(18.0, 24.0)
        return Boat(self.count, metres, moment)


class WallTable:
    """The wash on the walls for each boat in the staircase."""

    def __init__(self):
        self._wash = {}
        depth = cp.linspace(0.0, 1.0, DEPTHS, dtype=cp.float32)
        along = cp.linspace(0.0, 1.0, ALONG, dtype=cp.float32)
        self.depth = depth[:, None]
        self.along = along[None, :]
        self.profile = cp.exp(-4.0 * self.depth)

    def open(self, boat):
        scale = cp.float32(boat.metres / 24.0)
        field = self.profile * cp.sin(6.2832 * self.along / scale)
        self._wash[boat.number] = field

    def step(self, boat):
        field = self._wash[boat.number]
        field *= cp.float32(0.97)
        field += cp.float32(0.002 * boat.metres) * self.profile

    def wear(self, boat):
        return float(cp.abs(self._wash[boat.number]).mean())

    def close(self, boat):
        self._wash.pop(boat.number)


class Staircase:
    def __init__(self):
        self.table = WallTable()
        self.boats = deque()
        self.tow = deque(maxlen=6)
        self.wear = 0.0
        self.through = 0

    def admit(self, boat):
        self.table.open(boat)
        self.boats.append(boat)

    def climb(self, moment):
        for boat in self.boats:
            self.table.step(boat)
        while self.boats and moment - self.boats[0].arrived >= CLIMB_ROUNDS:
            self.depart(self.boats.popleft())

    def depart(self, boat):
        self.wear += self.table.wear(boat)
        self.through += 1
        if boat.small:
            self.hand_over(boat)
        else:
            self.table.close(boat)

    def hand_over(self, boat):
        """The tow takes up to six small boats at once through the tunnel."""
        self.table.close(boat)
        self.tow.append(boat)
        if len(self.tow) == self.tow.maxlen:
            self.tow.clear()


def main():
    arrivals = Arrivals()
    staircase = Staircase()
    started = time.monotonic()
    due = started
    moment = 0
    while time.monotonic() - started < SECONDS:
        staircase.admit(arrivals.next_boat(moment))
        staircase.climb(moment)
        moment += 1
        if moment % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"{staircase.through} boats through, {len(staircase.boats)} climbing, "
                  f"{len(staircase.tow)} at the tow, wear {staircase.wear:.2f}", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"locks closed after {staircase.through} boats, wear {staircase.wear:.2f}", flush=True)


if __name__ == "__main__":
    main()
