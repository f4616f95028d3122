"""Rip current outlook for a row of guarded beach sections.

Each hour of the simulated day brings new swell and tide. A depth profile with drifting sand bars turns them into
a field of longshore and offshore speed, from which the head lifeguard reads a hazard grid for every section and
hangs a green, yellow or red flag. At the close of the day the logbook is written up from the hourly assessments.

ticket: practice
class: host-growth
holder: assessments
cause: results-kept
"""
import os
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
HOURS_PER_DAY = 12
SECTIONS = ("Pier", "Dunes", "Harbour Wall", "Lagoon")
GRID = (160, 220)


@dataclass
class Assessment:
    section: str
    hour: int
    flag: str
    hazard: np.ndarray

    @property
    def worst(self):
        return float(self.hazard.max())


class SeaBed:
    """Depth below mean sea level for one beach section, with bars that wander along the shore."""

    def __init__(self, rng):
        offshore = np.linspace(0.0, 1.0, GRID[0])[:, None]
        self.slope = 0.3 + 5.5 * offshore ** 0.8 * np.ones(GRID)
        self.along = np.linspace(0.0, 2.0 * np.pi, GRID[1])[None, :]
        self.bar_row = np.exp(-((offshore - 0.35) / 0.08) ** 2)
        self.phase = rng.uniform(0.0, 2.0 * np.pi)
        self.channels = int(rng.integers(2, 6))

    def drift(self, metres):
        self.phase = (self.phase + 0.02 * metres) % (2.0 * np.pi)

    def depth(self, tide):
        bars = 1.4 * self.bar_row * (0.55 + 0.45 * np.cos(self.channels * self.along + self.phase))
        return np.maximum(self.slope + tide - bars, 0.15)


class Swell:
    """Height and period of the incoming waves, as a pair of slowly wandering values."""

    def __init__(self, rng):
        self.rng = rng
        self.height = 1.1
        self.period = 9.0

    def step(self):
        self.height = float(np.clip(self.height + self.rng.normal(0.0, 0.12), 0.3, 2.8))
        self.period = float(np.clip(self.period + self.rng.normal(0.0, 0.3), 5.0, 15.0))


class HeadLifeguard:
    """Assesses the sections hour by hour and writes up each day."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.beds = {section: SeaBed(self.rng) for section in SECTIONS}
        self.swell = Swell(self.rng)
        self.assessments = []
        self.flags = Counter()
        self.day = 0
        self.hour = 0

    def hazard_grid(self, bed, tide):
        depth = bed.depth(tide)
        breaking = np.clip(self.swell.height / (0.78 * depth), 0.0, 1.6)
        setup = 0.15 * self.swell.height * breaking ** 2
        cross, along = np.gradient(setup)
        offshore_speed = np.abs(cross) * np.sqrt(9.81 * depth) * self.swell.period / 9.0
        feeder_speed = np.abs(along) * np.sqrt(9.81 * depth)
        waders = np.exp(-((depth - 1.1) / 0.7) ** 2)
        return (offshore_speed + 0.6 * feeder_speed) * (0.4 + waders)  # grows

    def flag_for(self, hazard):
        high = float(np.quantile(hazard[::4, ::4], 0.98))
        if high > 0.16:
            return "red"
        return "yellow" if high > 0.09 else "green"

    def assess(self):
        tide = 1.2 * np.sin(2.0 * np.pi * self.hour / HOURS_PER_DAY)
        self.swell.step()
        for section, bed in self.beds.items():
            bed.drift(self.rng.normal(0.5, 1.0))
            hazard = self.hazard_grid(bed, tide)
            flag = self.flag_for(hazard)
            self.flags[flag] += 1
            self.assessments.append(Assessment(section, self.hour, flag, hazard))  # keeps
        self.hour += 1

    def close_day(self):
        hourly = self.assessments[-HOURS_PER_DAY * len(SECTIONS):]
        worst = max(hourly, key=lambda item: item.worst)
        closed = sum(item.flag == "red" for item in hourly)
        self.day += 1
        self.hour = 0
        return f"day {self.day}: worst at {worst.section}, hour {worst.hour} ({worst.worst:.2f}), red hours {closed}"


def main():
    guard = HeadLifeguard(seed=71)
    started = time.monotonic()
    entry_due = started + 2.0
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        guard.assess()
        if guard.hour == HOURS_PER_DAY:
            entry = guard.close_day()
            if time.monotonic() >= entry_due:
                print(entry, flush=True)
                entry_due = time.monotonic() + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - round_start)))
    print(f"season over after {guard.day} days, flags {dict(sorted(guard.flags.items()))}", flush=True)


if __name__ == "__main__":
    main()
