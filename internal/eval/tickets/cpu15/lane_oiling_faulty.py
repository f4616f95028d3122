"""
A bowling centre lays oil on its lanes before each league and measures the film with a tape reader.
The reader takes profiles across the boards at several distances from the foul line, on lanes with
different surfaces. The measurements of a shift are entered in one table for each surface, which the
mechanic uses to correct the oil machine.

ticket: practice
class: host-growth
holder: readings
cause: results-kept
"""
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
LANES = 24
BOARDS = 39
SAMPLES_PER_BOARD = 1024
ROUNDS_PER_SECOND = 12
SHIFT_SECONDS = 15.0
SURFACES = ("maple", "pine", "synthetic")
TABLED = ("maple", "pine")


@dataclass
class TapeReading:
    number: int
    lane: int
    surface: str
    distance: float
    film: np.ndarray

    def ratio(self):
        centre = self.film[16:23].mean()
        outside = 0.5 * (self.film[:5].mean() + self.film[-5:].mean())
        return float(centre / max(outside, 1e-6))


class SurfaceTable:
    """The sums of all films measured on one surface."""

    def __init__(self, surface):
        self.surface = surface
        self.count = 0
        self.total = np.zeros(BOARDS, dtype=np.float64)
        self.ratios = 0.0

    def enter(self, reading):
        self.count += 1
        self.total += reading.film.mean(axis=1)
        self.ratios += reading.ratio()

    def mean_ratio(self):
        return self.ratios / self.count if self.count else 0.0


class TapeReader:
    """Simulates the films that the oil machine leaves on the boards."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        position = np.abs(np.arange(BOARDS) - BOARDS // 2) / (BOARDS / 2)
        self.pattern = (60.0 * np.exp(-2.2 * position ** 2)).astype(np.float32)
        self.wear = np.zeros(LANES, dtype=np.float32)
        self.grain = self.rng.random((48, BOARDS, 4096), dtype=np.float32)

    def measure(self, lane, distance):
        grain = self.grain[lane * 2 % 48, :, :SAMPLES_PER_BOARD]
        fade = np.float32(np.exp(-distance / 40.0) * (1.0 - 0.5 * self.wear[lane]))
        return self.pattern[:, None] * fade + grain  # grows

    def play(self):
        self.wear += self.rng.random(LANES, dtype=np.float32) * 0.002
        self.wear[self.wear > 1.0] = 0.0


class OilRoom:
    def __init__(self, seed=41):
        self.reader = TapeReader(seed)
        self.rng = np.random.default_rng(seed + 1)
        self.tables = {surface: SurfaceTable(surface) for surface in TABLED}
        self.readings = []
        self.number = 0
        self.shifts = 0

    def take(self):
        lane = self.number % LANES
        distance = float(self.rng.uniform(2.0, 45.0))
        film = self.reader.measure(lane, distance)
        reading = TapeReading(self.number, lane, SURFACES[lane % len(SURFACES)], distance, film)
        self.readings.append(reading)  # keeps
        self.number += 1
        return reading

    def close_shift(self):
        entered = set()
        for reading in self.readings:
            table = self.tables.get(reading.surface)
            if table is not None:
                table.enter(reading)
                entered.add(reading.number)
        self.readings = [reading for reading in self.readings if reading.number not in entered]
        self.shifts += 1

    def summary(self):
        return "  ".join(f"{table.surface} {table.mean_ratio():.2f}" for table in self.tables.values())


def main():
    room = OilRoom()
    start = time.monotonic()
    next_shift = start + SHIFT_SECONDS
    next_line = start + 2.0
    ratio = 0.0
    while time.monotonic() - start < SECONDS:
        for _ in range(2):
            ratio = 0.9 * ratio + 0.1 * room.take().ratio()
        room.reader.play()
        now = time.monotonic()
        if now >= next_shift:
            room.close_shift()
            next_shift += SHIFT_SECONDS
            print(f"shift {room.shifts}: {room.summary()}", flush=True)
        if now >= next_line:
            next_line += 3.0
            print(f"{now - start:6.1f} s  tape {room.number}  ratio {ratio:.2f}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"lanes measured {room.number} times in {room.shifts} shifts", flush=True)


if __name__ == "__main__":
    main()
