"""Route finding for the shunters of a tram depot.

The yard is a grid of rails, points and parked trams. For a tram that must go to a berth the planner works out a
field of driving costs towards that berth and walks down it from the place of the tram. Several trams often ask for
the same berth while the yard stands as it is, so fields are used again; as drivers move trams by hand too, a field
is good for six seconds.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
SIDE = 416
BERTHS = 14
GOOD_FOR = 6.0
FAR = np.float32(1e6)


@dataclass
class CostField:
    made: float
    costs: np.ndarray


class Yard:
    """Rails and parked trams; each move of a tram gives the yard a new state."""

    def __init__(self, rng):
        self._rng = rng
        self._surveys = rng.random((32, SIDE, SIDE), dtype=np.float32)
        self.berths = rng.integers(20, SIDE - 20, size=(BERTHS, 2))
        self.parked = rng.integers(0, SIDE - 24, size=(40, 2))
        self.state = 0

    def move_tram(self):
        self.parked[self._rng.integers(len(self.parked))] = self._rng.integers(0, SIDE - 24, size=2)
        self.state += 1

    def resistance(self):
        ground = 1.0 + 0.5 * self._surveys[self.state % len(self._surveys)]
        for row, column in self.parked:
            ground[row:row + 3, column:column + 20] = 60.0
        return ground


class FieldCache:
    """Cost fields by yard state and berth."""

    def __init__(self, good_for):
        self._good_for = good_for
        self._fields = {}
        self.hits = 0
        self.misses = 0

    def find(self, key, now):
        field = self._fields.get(key)
        if field is not None and now - field.made > self._good_for:
            del self._fields[key]
            field = None
        if field is None:
            self.misses += 1
        else:
            self.hits += 1
        return field

    def store(self, key, field):
        self._fields[key] = field
        for old in [name for name, kept in self._fields.items() if field.made - kept.made > self._good_for]:
            del self._fields[old]


class ShuntPlanner:
    def __init__(self, yard, rng):
        self._yard = yard
        self._rng = rng
        self._cache = FieldCache(GOOD_FOR)
        self.steps_walked = 0

    def spread_costs(self, berth):
        """Driving cost to the berth: a first guess by distance, eased over the resistance of the yard."""
        ground = self._yard.resistance()
        row, column = self._yard.berths[berth]
        away = np.abs(np.arange(SIDE) - row)[:, None] + np.abs(np.arange(SIDE) - column)[None, :]
        costs = np.minimum(ground * away, FAR).astype(np.float32)
        for _ in range(6):
            costs[1:] = np.minimum(costs[1:], costs[:-1] + ground[1:])
            costs[:-1] = np.minimum(costs[:-1], costs[1:] + ground[:-1])
            costs[:, 1:] = np.minimum(costs[:, 1:], costs[:, :-1] + ground[:, 1:])
            costs[:, :-1] = np.minimum(costs[:, :-1], costs[:, 1:] + ground[:, :-1])
        return costs

    def route(self, berth, now):
        key = (self._yard.state, berth)
        field = self._cache.find(key, now)
        if field is None:
            field = CostField(now, self.spread_costs(berth))
            self._cache.store(key, field)
        return self.walk(field.costs, *self._rng.integers(1, SIDE - 1, size=2))

    def walk(self, costs, row, column):
        for step in range(300):
            around = costs[row - 1:row + 2, column - 1:column + 2]
            down, right = divmod(int(around.argmin()), 3)
            if (down, right) == (1, 1):
                break
            row = min(max(row + down - 1, 1), SIDE - 2)
            column = min(max(column + right - 1, 1), SIDE - 2)
        self.steps_walked += step
        return row, column

    def share_reused(self):
        return self._cache.hits / max(1, self._cache.hits + self._cache.misses)


def main():
    rng = np.random.default_rng(1902)
    yard = Yard(rng)
    planner = ShuntPlanner(yard, rng)
    start = time.monotonic()
    next_print, rounds = 2.0, 0
    while (now := time.monotonic() - start) < SECONDS:
        if rounds % 8 == 0:
            yard.move_tram()
        planner.route(int(rng.integers(BERTHS)), now)
        rounds += 1
        if now >= next_print:
            print(f"{now:6.1f} s  routes {rounds}  steps {planner.steps_walked}  "
                  f"fields used again {planner.share_reused():.2f}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, rounds / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"shift over: {rounds} routes, {planner.steps_walked} steps", flush=True)


if __name__ == "__main__":
    main()
