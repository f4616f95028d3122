"""Headings of swimmers from the radar of a lifeguard station.

A small radar sweeps the bay. Each sweep is a grid of echo strength; the station takes the sweeps of the last few
seconds, folds them over one another to find echoes that move steadily, and draws up in which direction the bathers
drift. When the common drift points out to sea, the boat is launched.

ticket: practice
class: host-growth
holder: _sweeps
cause: buffer-without-bound
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
SWEEPS_PER_SECOND = 9
GRID = (320, 360)
SWIMMERS = 40
MEMORY_MS = 2500
CELL = 4
SHIFTS = [(down, right) for down in range(-4, 5) for right in range(-4, 5)]


@dataclass
class Sweep:
    stamp: float
    echoes: np.ndarray


class Bay:
    """Bathers in a current that turns over the hours of the tide."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.place = self.rng.uniform((0, 0), GRID, size=(SWIMMERS, 2))
        self.clutter = self.rng.gamma(2.0, 0.2, size=GRID).astype(np.float32)
        self.turn = 0.0

    def current(self):
        return np.array([np.sin(self.turn), np.cos(self.turn)])

    def step(self):
        self.turn += 0.05
        self.place += 3.0 * self.current() + self.rng.normal(0.0, 0.5, size=self.place.shape)
        self.place %= np.array(GRID)

    def echoes(self):
        strength = self.clutter * self.rng.random(GRID, dtype=np.float32)  # grows
        rows, columns = self.place.astype(int).T
        np.add.at(strength, (rows % GRID[0], columns % GRID[1]), np.float32(6.0))
        return strength


class SweepMemory:
    """The sweeps of the last few seconds, oldest first."""

    def __init__(self, memory_ms):
        self.memory_ms = memory_ms
        self._sweeps = deque()

    def add(self, sweep):
        self._sweeps.append(sweep)  # keeps
        oldest = sweep.stamp - self.memory_ms
        while self._sweeps[0].stamp < oldest:
            self._sweeps.popleft()

    def latest(self, count):
        start = max(0, len(self._sweeps) - count)
        return [self._sweeps[index] for index in range(start, len(self._sweeps))]


class Station:
    def __init__(self, memory):
        self.memory = memory
        self.heading = (0, 0)
        self.launches = 0
        self.sweeps = 0

    def take(self, bay):
        bay.step()
        self.memory.add(Sweep(time.monotonic(), bay.echoes()))
        self.sweeps += 1

    @staticmethod
    def strong_cells(sweep):
        cells = sweep.echoes.reshape(GRID[0] // CELL, CELL, GRID[1] // CELL, CELL)
        return cells.max(axis=(1, 3)) > 4.0

    @staticmethod
    def agreement(pair, shift):
        before, after = pair
        return int((np.roll(before, shift, axis=(0, 1)) & after).sum())

    def read_heading(self):
        recent = self.memory.latest(5)
        if len(recent) < 5:
            return
        pair = self.strong_cells(recent[0]), self.strong_cells(recent[-1])
        self.heading = max(SHIFTS, key=lambda shift: self.agreement(pair, shift))
        if self.heading[0] > 1:
            self.launches += 1

    def busiest_quarter(self):
        quarters = np.zeros((2, 2))
        for sweep in self.memory.latest(12):
            strong = sweep.echoes > 4.0
            quarters += strong.reshape(2, GRID[0] // 2, 2, GRID[1] // 2).sum(axis=(1, 3))
        row, column = np.unravel_index(quarters.argmax(), quarters.shape)
        return ("inner", "outer")[row] + " " + ("west", "east")[column]


def main():
    bay = Bay(seed=14)
    station = Station(SweepMemory(MEMORY_MS))
    started = time.monotonic()
    report_due = started + 2.0
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        station.take(bay)
        if station.sweeps % 3 == 0:
            station.read_heading()
        if time.monotonic() >= report_due:
            quarter = station.busiest_quarter()
            print(f"sweep {station.sweeps}: drift {station.heading}, busiest {quarter}", flush=True)
            report_due += 2.0
        time.sleep(max(0.0, 1.0 / SWEEPS_PER_SECOND - (time.monotonic() - round_start)))
    print(f"radar off after {station.sweeps} sweeps, {station.launches} launch calls", flush=True)


if __name__ == "__main__":
    main()
