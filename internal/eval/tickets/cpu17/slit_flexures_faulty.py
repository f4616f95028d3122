"""The slit of an observatory dome bends in the wind, and its edges then shade the telescope.
Strain rosettes along both arches are read several times a second; from the readings of the last ten seconds
the dome engineer's program estimates the bending and decides whether the wind screen has to come up.

ticket: practice
class: host-growth
holder: readings
cause: buffer-without-bound
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
SPAN_S = 10.0
TIDY_EVERY_S = 4.0
REPORT_EVERY_S = 2.0
ROSETTES, SAMPLES = 60, 1000
ARCHES = ("east", "west")
SCREEN_UP, SCREEN_DOWN = 34.0, 28.0


class Wind:
    """Gusts around a mean that wanders through the night."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._mean = 9.0
        self._gust = 0.0

    def step(self):
        self._mean += 0.05 * (9.0 - self._mean) + self._rng.normal(0.0, 0.2)
        self._gust = 0.8 * self._gust + self._rng.normal(0.0, 0.8)
        return max(0.0, self._mean + self._gust)


class Arch:
    """One edge of the slit as a beam held at its foot, with rosettes at even distances."""

    def __init__(self, name, seed):
        self.name = name
        self._rng = np.random.default_rng(seed)
        place = np.linspace(0.0, 1.0, ROSETTES, dtype=np.float32)
        self._shape = ((1.0 - place) ** 2)[:, None]
        self._tone = np.sin(np.linspace(0.0, 40.0, SAMPLES, dtype=np.float32))[None, :]

    def read(self, wind):
        strains = self._rng.standard_normal((ROSETTES, SAMPLES), dtype=np.float32)  # grows
        strains += self._shape * np.float32(0.9 * wind ** 2)
        strains += self._shape * self._tone * np.float32(0.1 * wind)
        return strains


class Reading:
    __slots__ = ("taken", "arch", "wind", "strains")

    def __init__(self, taken, arch, wind, strains):
        self.taken = taken
        self.arch = arch
        self.wind = wind
        self.strains = strains

    def bending(self):
        return float(self.strains[:, ::8].mean())


class SlitMonitor:
    def __init__(self, seed):
        self._wind = Wind(seed)
        self._arches = [Arch(name, seed + place) for place, name in enumerate(ARCHES, start=1)]
        self.started = time.monotonic()
        self._tidied = self.started
        self.readings = []
        self.screen = "down"
        self.moves = 0

    def measure(self, now):
        wind = self._wind.step()
        for arch in self._arches:
            self.readings.append(Reading(now, arch.name, wind, arch.read(wind)))  # keeps

    def tidy(self, now):
        if now - self._tidied < TIDY_EVERY_S:
            return
        self._tidied = now
        self.readings = [reading for reading in self.readings if self.started - reading.taken <= SPAN_S]

    def bending(self, arch, now):
        values = []
        for reading in reversed(self.readings):
            if now - reading.taken > SPAN_S:
                break
            if reading.arch == arch:
                values.append(reading.bending())
        return float(np.mean(values[:24])) if values else 0.0

    def set_screen(self, now):
        worst = max(self.bending(arch, now) for arch in ARCHES)
        if self.screen == "down" and worst > SCREEN_UP:
            self.screen = "up"
            self.moves += 1
        elif self.screen == "up" and worst < SCREEN_DOWN:
            self.screen = "down"
            self.moves += 1
        return worst


def main():
    monitor = SlitMonitor(seed=96)
    reported = monitor.started
    worst = 0.0
    while (now := time.monotonic()) - monitor.started < SECONDS:
        monitor.measure(now)
        worst = max(worst, monitor.set_screen(now))
        monitor.tidy(now)
        if now - reported >= REPORT_EVERY_S:
            bends = "  ".join(f"{arch} {monitor.bending(arch, now):.1f}" for arch in ARCHES)
            print(f"{now - monitor.started:6.1f} s  {bends}  screen {monitor.screen}", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"dome closed: worst bending {worst:.1f}, screen moved {monitor.moves} times", flush=True)


if __name__ == "__main__":
    main()
