"""Harbour radar for a small river ferry line working in autumn fog.

Each crossing gets a radar plot when the boat casts off; sweeps are blended into the plot while the boat is under way.
At the far bank the plot is scored for close passes. When the fog closes in, a boat turns for the nearest jetty instead
and its crossing is logged as diverted.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
BEARINGS = 512
RANGES = 640
CROSSING_ROUNDS = 9


@dataclass
class Crossing:
    number: int
    boat: str
    heading: float
    rounds_left: int


class FogModel:
    """Visibility on the river as a slow random walk between clear and thick."""

    def __init__(self, rng):
        self.rng = rng
        self.visibility = 0.6

    def step(self):
        drift = 0.08 * (0.6 - self.visibility)
        self.visibility = float(np.clip(self.visibility + drift + self.rng.normal(0.0, 0.05), 0.15, 1.0))

    def closes_in(self):
        return self.rng.random() < 0.09 * (1.4 - self.visibility)


class RadarRoom:
    """Looks after one radar plot for each boat under way."""

    def __init__(self, rng):
        self.rng = rng
        self._plots = {}
        self.close_passes = 0
        self.arrived = 0
        self.diverted = 0

    def open_plot(self, crossing):
        plot = self.rng.random((BEARINGS, RANGES), dtype=np.float32)
        plot *= 0.05
        self._plots[crossing.number] = plot

    def sweep(self, crossing, visibility):
        plot = self._plots[crossing.number]
        bearing = int((crossing.heading + self.rng.normal(0.0, 0.1)) * BEARINGS) % BEARINGS
        beam = self.rng.random(RANGES, dtype=np.float32)
        gain = 0.3 + 0.4 * visibility
        plot[bearing] = (1.0 - gain) * plot[bearing] + gain * beam
        crossing.heading = (crossing.heading + 0.013) % 1.0

    def score(self, plot):
        ranges = plot[:, : RANGES // 8]
        return int(np.count_nonzero(ranges.max(axis=1) > 0.9))

    def land(self, crossing):
        plot = self._plots.pop(crossing.number)
        self.close_passes += self.score(plot)
        self.arrived += 1

    def divert(self, crossing):
        plot = self._plots.pop(crossing.number)
        self.close_passes += self.score(plot[:, ::2])
        self.diverted += 1


class FerryLine:
    BOATS = ("Heron", "Otter", "Kingfisher", "Teal", "Bittern")

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.fog = FogModel(self.rng)
        self.radar = RadarRoom(self.rng)
        self.under_way = []
        self.number = 0

    def cast_off(self):
        self.number += 1
        crossing = Crossing(
            number=self.number,
            boat=self.BOATS[self.number % len(self.BOATS)],
            heading=float(self.rng.random()),
            rounds_left=CROSSING_ROUNDS + int(self.rng.integers(0, 4)),
        )
        self.radar.open_plot(crossing)
        self.under_way.append(crossing)

    def round(self):
        self.fog.step()
        self.cast_off()
        still_out = []
        for crossing in self.under_way:
            self.radar.sweep(crossing, self.fog.visibility)
            crossing.rounds_left -= 1
            if crossing.rounds_left <= 0:
                self.radar.land(crossing)
            elif self.fog.closes_in():
                self.radar.divert(crossing)
            else:
                still_out.append(crossing)
        self.under_way = still_out


def main():
    line = FerryLine(seed=1871)
    start = time.monotonic()
    next_line = 2.0
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        line.round()
        if elapsed >= next_line:
            radar = line.radar
            print(f"{elapsed:6.1f}s visibility {line.fog.visibility:.2f} under way {len(line.under_way)} "
                  f"arrived {radar.arrived} diverted {radar.diverted}", flush=True)
            next_line += 2.0
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"line closed: {line.number} crossings, {line.radar.close_passes} close passes", flush=True)


if __name__ == "__main__":
    main()
