"""Strain watch of a crane yard: gauges along the jibs of five tower cranes are read out in short windows.

For each crane a watch turns the windows into spectra, compares them with those of the last few seconds and warns
the crew where a frequency of the jib moves, which tells of a loose bolt or a rope that runs off its sheave.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 8
CRANES = ["A1", "A2", "B1", "B2", "C1"]
GAUGES = 24
SAMPLES = 800
RATE = 400.0
DEPTH = 12


class Jib:
    """Swings of one jib: a few eigenfrequencies, the wind and the load on the hook."""

    def __init__(self, rng):
        self.rng = rng
        self.frequencies = rng.uniform(0.8, 22.0, 4)
        self.shapes = rng.standard_normal((4, GAUGES))
        self.clock = 0.0
        self.loose = 1.0

    def read(self):
        """One window of all gauges in microstrain."""
        moments = self.clock + np.arange(SAMPLES) / RATE
        self.clock = float(moments[-1]) + 1.0 / RATE
        phases = 2.0 * np.pi * np.outer(moments, self.frequencies * self.loose)
        swing = np.sin(phases) * self.rng.uniform(5.0, 40.0, 4)
        return swing @ self.shapes + self.rng.standard_normal((SAMPLES, GAUGES))

    def wear(self):
        if self.rng.random() < 0.01:
            self.loose = float(self.rng.uniform(0.96, 1.0))


class StrainHistory:
    """The last windows of one crane, newest at the end."""

    def __init__(self, depth):
        self.depth = depth
        self._windows = deque(maxlen=depth)

    def add(self, window):
        self._windows.append(window)

    def last(self):
        return self._windows[-1]

    def recent(self):
        """The windows that a spectrum is compared with."""
        count = min(self.depth, len(self._windows))
        return [self._windows[-1 - back] for back in range(count)]


class JibWatch:
    """Compares the newest window of a crane with those before it."""

    def __init__(self, name, jib):
        self.name = name
        self.jib = jib
        self.history = StrainHistory(DEPTH)
        self.taper = np.hanning(SAMPLES)[:, None]
        self.warnings = 0
        self.peak = 0.0

    def spectrum(self, window):
        power = np.abs(np.fft.rfft((window - window.mean(axis=0)) * self.taper, axis=0)) ** 2
        return power.mean(axis=1)

    def look(self):
        self.jib.wear()
        self.history.add(self.jib.read())
        newest = self.spectrum(self.history.last())
        self.peak = float(newest[1:].argmax() + 1) * RATE / SAMPLES
        recent = self.history.recent()
        middle = np.mean([window.std() for window in recent])
        spread = self.history.last().std() / max(float(middle), 1e-9)
        if spread > 1.35:
            self.warnings += 1

    def rope_load(self):
        """Mean of the root gauges over the recent windows, in tonnes."""
        root = [np.abs(window[:, :3]).mean() for window in self.history.recent()]
        return float(np.mean(root)) * 0.12


def crew_line(watches):
    parts = [f"{watch.name} {watch.peak:4.1f} Hz {watch.rope_load():4.1f} t" for watch in watches]
    return ", ".join(parts)


def main():
    rng = np.random.default_rng(9024)
    watches = [JibWatch(name, Jib(rng)) for name in CRANES]
    began = time.monotonic()
    next_line = 3.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        for watch in watches:
            watch.look()
        if now >= next_line:
            print(f"{now:6.1f} s  {crew_line(watches)}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    warnings = ", ".join(f"{watch.name} {watch.warnings}" for watch in watches)
    print(f"end of the shift, warnings: {warnings}", flush=True)


if __name__ == "__main__":
    main()
