"""Wake surveys behind an aerofoil in a closed wind tunnel.

For each angle of a sweep the deficit of the stream behind the model is measured on a plane, its momentum gives the
drag, and a parabola through the angles gives the drag polar. Sweeps are repeated through the day to see how well
the tunnel repeats itself.

ticket: practice
class: app-leak
holder: _finished points
cause: results-kept
"""

import os
import statistics
import time
from dataclasses import dataclass, field

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ANGLES_PER_SECOND = 6
ANGLES = tuple(np.linspace(-6.0, 10.0, 9))
ROWS = 512
COLUMNS = 512


@dataclass
class Point:
    """The survey at one angle."""

    angle: float
    deficit: cp.ndarray
    drag: float


@dataclass
class Sweep:
    """The points of one sweep and the parabola through them."""

    number: int
    points: list = field(default_factory=list)
    polar: tuple = ()

    def fit(self):
        angles = [point.angle for point in self.points]
        drags = [point.drag for point in self.points]
        self.polar = tuple(float(value) for value in np.polyfit(angles, drags, 2))

    def least_drag(self):
        square, linear, constant = self.polar
        return constant - linear * linear / (4.0 * square)

    def wake_width(self):
        """Mean share of the plane that lies in the wake, over the points of the sweep."""
        return statistics.fmean(float((point.deficit > 0.1).mean()) for point in self.points)


class WakePlane:
    """The plane behind the model where the rake travels, and the unsteadiness of the stream."""

    def __init__(self, seed):
        self.random = cp.random.RandomState(seed)
        y = cp.linspace(-1.0, 1.0, ROWS, dtype=cp.float32)[:, None]
        z = cp.linspace(-1.0, 1.0, COLUMNS, dtype=cp.float32)[None, :]
        self.y = y
        self.span = 1.0 - 0.2 * z * z
        self.gusts = self.random.random_sample((24, ROWS, COLUMNS), dtype=cp.float32)

    def survey(self, angle, tick):
        centre = -0.02 * angle
        width = 0.05 + 0.004 * abs(angle)
        depth = 0.3 + 0.003 * (angle - 1.0) ** 2
        shape = cp.exp(-(((self.y - centre) / width) ** 2)) * self.span
        shape *= 1.0 + 0.1 * (self.gusts[tick % 24] - 0.5)
        return shape * np.float32(depth)  # grows


class Campaign:
    """Sweeps the angles again and again and compares the polars."""

    def __init__(self, plane):
        self.plane = plane
        self.current = Sweep(0)
        self.width = 0.0
        self._finished = []

    def measure(self, tick):
        angle = float(ANGLES[len(self.current.points)])
        deficit = self.plane.survey(angle, tick)
        drag = float((deficit * (1.0 - deficit)).mean()) * 2.0
        self.current.points.append(Point(angle, deficit, drag))  # keeps
        if len(self.current.points) == len(ANGLES):
            self.finish()

    def finish(self):
        sweep = self.current
        sweep.fit()
        self.width = sweep.wake_width()
        self._finished.append(sweep)  # keeps
        self.current = Sweep(sweep.number + 1)

    def repeatability(self):
        least = [sweep.least_drag() for sweep in self._finished]
        if len(least) < 2:
            return 0.0
        return statistics.stdev(least)


def main():
    campaign = Campaign(WakePlane(seed=90))
    start = time.monotonic()
    tick = 0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        campaign.measure(tick)
        tick += 1
        if tick % (3 * ANGLES_PER_SECOND) == 0:
            print(
                f"angle {tick}: sweep {campaign.current.number}, wake width {campaign.width:.3f}, "
                f"repeats within {campaign.repeatability():.6f}",
                flush=True,
            )
        time.sleep(max(0.0, 1.0 / ANGLES_PER_SECOND - (time.monotonic() - began)))
    print(f"tunnel stopped after {tick} angles, repeats within {campaign.repeatability():.6f}", flush=True)


if __name__ == "__main__":
    main()
