"""Depth sounding from a chain ferry that crosses a silting river all day.

A fan sonar under the hull gives one swath of depths for each ping. The pilot's display shows the bed as the mean of
the most recent swaths, and warns when the bed has come up under the keel since the last survey of the channel.

ticket: practice
class: host-growth
holder: _swaths
cause: buffer-without-bound
"""
import itertools
import os
import time
from collections import deque

import numpy as np

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
PINGS_PER_SECOND = 9
BEAMS = 320
CELLS = 640
WINDOW = 20
KEEL = 1.6


class RiverBed:
    """Bed of the river along the chain, with silt that settles and is washed out."""

    def __init__(self, rng):
        self.rng = rng
        across = np.linspace(0.0, np.pi, CELLS, dtype=np.float32)
        along = np.linspace(0.0, 5.0, BEAMS, dtype=np.float32)
        self.survey = 2.2 + 4.0 * np.sin(across)[None, :] + 0.2 * np.cos(along)[:, None]
        self.depth = self.survey.copy()

    def silt(self):
        centre = int(self.rng.integers(20, CELLS - 20))
        self.depth[:, centre - 20:centre + 20] -= np.float32(self.rng.gamma(2.0, 0.02))
        self.depth += 0.01 * (self.survey - self.depth)


class FanSonar:
    def __init__(self, bed, rng):
        self.bed = bed
        self.rng = rng
        self.pings = 0

    def ping(self):
        swath = self.rng.normal(0.0, 0.08, (BEAMS, CELLS)).astype(np.float32)  # grows
        swath += self.bed.depth
        self.pings += 1
        return swath


class PilotDisplay:
    """Mean bed over the last swaths, at a quarter of the resolution of the sonar."""

    def __init__(self, survey, window):
        self.survey = survey[::4, ::4]
        self.window = window
        self._swaths = deque([survey])
        self.warnings = 0
        self.shallowest = float(survey.min())

    def add(self, swath):
        self._swaths.append(swath)  # keeps

    def mean_bed(self):
        recent = itertools.islice(reversed(self._swaths), self.window)
        total = np.zeros_like(self.survey)
        count = 0
        for swath in recent:
            total += swath[::4, ::4]
            count += 1
        return total / count

    def refresh(self):
        bed = self.mean_bed()
        self.shallowest = float(bed.min())
        risen = (self.survey - bed) > 0.25
        if self.shallowest < KEEL or risen.mean() > 0.05:
            self.warnings += 1
        return bed


class ChainFerry:
    CROSSING_PINGS = 40

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.bed = RiverBed(self.rng)
        self.sonar = FanSonar(self.bed, self.rng)
        self.display = PilotDisplay(self.bed.survey, WINDOW)
        self.position = 0
        self.direction = 1
        self.crossings = 0

    def move(self):
        self.position += self.direction
        if self.position in (0, self.CROSSING_PINGS):
            self.direction = -self.direction
            self.crossings += 1

    def round(self):
        self.bed.silt()
        self.move()
        self.display.add(self.sonar.ping())
        self.display.refresh()


def main():
    ferry = ChainFerry(seed=1934)
    start = time.monotonic()
    next_line = 2.0
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        ferry.round()
        if elapsed >= next_line:
            print(f"{elapsed:6.1f}s pings {ferry.sonar.pings} crossings {ferry.crossings} "
                  f"shallowest {ferry.display.shallowest:.2f} m warnings {ferry.display.warnings}", flush=True)
            next_line += 2.0
        time.sleep(1.0 / PINGS_PER_SECOND)
    print(f"ferry moored after {ferry.sonar.pings} pings and {ferry.crossings} crossings", flush=True)


if __name__ == "__main__":
    main()
