"""Hairsprings of a watch factory, swept over temperature and winding.

For every spring that comes off the drawing bench a sweep is computed: at several temperatures the balance is let go
from a grid of amplitudes, and its swing is followed until it dies down. From the sweep the bench reads how the daily
rate changes from warm to cold, and sorts the spring into a grade.

ticket: practice
class: none
"""
import gc
import math
import os
import time
import weakref

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
SPRINGS_A_SECOND = 6.0
AMPLITUDES = 160
SAMPLES = 512
TEMPERATURES = (8.0, 23.0, 38.0)
GRADES = "ABCD"


class Spring:
    """Stiffness, damping and the thermal coefficient of one hairspring."""

    def __init__(self, serial, random):
        self.serial = serial
        self.stiffness = 1.0 + 0.002 * random.standard_normal()
        self.damping = 0.012 + 0.001 * random.random()
        self.thermal = 4e-5 * random.standard_normal()


class Station:
    """One temperature of a sweep, with the swing of the balance on the whole grid."""

    def __init__(self, sweep, temperature):
        self.sweep = weakref.proxy(sweep)
        self.temperature = temperature
        self.swing = None

    def frequency(self):
        spring = self.sweep.spring
        return math.sqrt(spring.stiffness * (1.0 + spring.thermal * (self.temperature - 23.0)))

    def compute(self):
        bench = self.sweep.bench
        start = bench.amplitudes[:, None]
        beat = self.frequency() * (1.0 - 0.002 * start ** 2)
        decay = cp.exp(-self.sweep.spring.damping * bench.clock)[None, :]
        self.swing = start * decay * cp.cos(beat * bench.clock[None, :])

    def daily_rate(self):
        reference = self.sweep.bench.reference
        lag = (self.swing[:, 1:] - self.swing[:, :-1]) * reference[:, 1:]
        return 86400.0 * float(lag.mean()) * 1e-3


class Sweep:
    """All stations of one spring."""

    def __init__(self, bench, spring):
        self.bench = bench
        self.spring = spring
        self.stations = [Station(self, temperature) for temperature in TEMPERATURES]

    def run(self):
        for station in self.stations:
            station.compute()

    def thermal_error(self):
        cold, _, warm = [station.daily_rate() for station in self.stations]
        return abs(warm - cold) / (TEMPERATURES[-1] - TEMPERATURES[0])


class Bench:
    """The sweeping bench: the grid that is the same for every spring, and the tally of grades."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        self.amplitudes = cp.linspace(0.5, 1.7, AMPLITUDES, dtype=cp.float32)
        self.clock = cp.linspace(0.0, 60.0, SAMPLES, dtype=cp.float32)
        self.reference = self.amplitudes[:, None] * cp.sin(self.clock)[None, :]
        self.grades = dict.fromkeys(GRADES, 0)
        self.swept = 0

    def next_spring(self):
        self.swept += 1
        return Spring(f"H{self.swept:05d}", self._random)

    def grade(self, spring):
        sweep = Sweep(self, spring)
        sweep.run()
        error = sweep.thermal_error()
        grade = GRADES[min(int(error / 2e-4), len(GRADES) - 1)]
        self.grades[grade] += 1
        return grade, error


def main():
    gc.collect()
    gc.disable()
    bench = Bench(seed=1896)
    end = time.monotonic() + SECONDS
    next_line = time.monotonic() + 3.0
    while time.monotonic() < end:
        began = time.monotonic()
        spring = bench.next_spring()
        grade, error = bench.grade(spring)
        if began >= next_line:
            tally = " ".join(f"{letter}:{count}" for letter, count in bench.grades.items())
            print(f"{spring.serial} grade {grade}, thermal error {error:.5f} s/d/K | {tally}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / SPRINGS_A_SECOND - (time.monotonic() - began)))
    cp.cuda.Device().synchronize()
    print(f"bench stopped after {bench.swept} springs", flush=True)


if __name__ == "__main__":
    main()
