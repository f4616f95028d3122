"""Plan of the winter pastures of a reindeer herding district.

The planner tries to send a herd to a pasture: the lichen is grazed, the snow is trampled, and the plan is scored by
what is left for the late winter. A trial that makes things worse is taken back step by step, a good one is accepted.
The lichen grows again a little between the trials.

ticket: practice
class: none
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
TRIALS_PER_SECOND = 10
SIDE = 1800
PATCH = 320


class PastureMap:
    """Lichen and snow of the district, with a way back for every change."""

    def __init__(self, rng):
        self.lichen = rng.standard_gamma(3.0, (SIDE, SIDE), dtype=np.float32)
        self.lichen *= 0.3
        self.snow = rng.standard_gamma(2.0, (SIDE, SIDE), dtype=np.float32)
        self.snow *= 0.2
        self._undo = []
        self._mark = 0

    def graze(self, rows, columns, bite):
        before = self.lichen[rows, columns].copy()

        def restore():
            self.lichen[rows, columns] = before

        self._undo.append(restore)
        eaten = np.minimum(before, bite)
        self.lichen[rows, columns] = before - eaten
        return float(eaten.sum())

    def trample(self, rows, columns, weight):
        before = self.snow[rows, columns].copy()

        def restore():
            self.snow[rows, columns] = before

        self._undo.append(restore)
        self.snow[rows, columns] = before * (1.0 - weight)
        return float(before.mean())

    def rollback(self):
        while len(self._undo) > self._mark:
            self._undo.pop()()

    def commit(self):
        self._undo.clear()
        self._mark = len(self._undo)

    def recover(self, rng):
        row = int(rng.integers(0, SIDE - 2 * PATCH))
        field = slice(row, row + 2 * PATCH)
        self.lichen[field] += 0.01 * (0.9 - self.lichen[field])
        self.snow[field] += 0.05 * (0.4 - self.snow[field])

    def reserve(self):
        sample = self.lichen[::6, ::6]
        return float(np.minimum(sample, 1.2).mean())


class Herd:
    def __init__(self, name, head):
        self.name = name
        self.head = head
        self.fed = 0.0
        self.row = 0
        self.column = 0

    @property
    def bite(self):
        return 0.02 + self.head / 40_000.0


class Planner:
    """Tries one move after the other and keeps to those that pay."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.pastures = PastureMap(self.rng)
        names = ("Forest", "River", "Fell", "Coast")
        self.herds = [Herd(name, int(self.rng.integers(400, 2200))) for name in names]
        self.accepted = 0
        self.rejected = 0

    def trial(self, number):
        herd = self.herds[number % len(self.herds)]
        row, column = (int(value) for value in self.rng.integers(0, SIDE - PATCH, 2))
        rows, columns = slice(row, row + PATCH), slice(column, column + PATCH)
        reserve = self.pastures.reserve()
        depth = self.pastures.trample(rows, columns, weight=0.3)
        eaten = self.pastures.graze(rows, columns, herd.bite)
        walked = abs(row - herd.row) + abs(column - herd.column)
        loss = reserve - self.pastures.reserve()
        gain = eaten / (PATCH * PATCH * herd.bite) - 0.4 * depth - 2.0 * loss - walked / 9000.0
        if gain > 0.68:
            self.pastures.commit()
            herd.row, herd.column = row, column
            herd.fed += eaten
            self.accepted += 1
        else:
            self.pastures.rollback()
            self.rejected += 1
        self.pastures.recover(self.rng)


def main():
    planner = Planner(71)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    number = 0
    while time.monotonic() < end:
        began = time.monotonic()
        planner.trial(number)
        number += 1
        if time.monotonic() >= report_at:
            reserve = planner.pastures.reserve()
            print(f"trial {number}: {planner.accepted} moves accepted, reserve {reserve:.3f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / TRIALS_PER_SECOND - (time.monotonic() - began)))
    best = max(planner.herds, key=lambda herd: herd.fed)
    print(f"plan made: {planner.accepted} accepted, {planner.rejected} not, best fed {best.name}", flush=True)


if __name__ == "__main__":
    main()
