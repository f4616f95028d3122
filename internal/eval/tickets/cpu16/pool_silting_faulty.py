"""The pool of a tide mill silts up: each flood carries mud through the gates, each ebb scours a channel to the wheel.

A bed model steps through half tides. Where the scour turns out too strong for a stable step, it takes up the
bed of a few half tides before and goes on from there with a smaller step, as a hydraulic engineer would.

ticket: practice
class: host-growth
holder: _surveys
cause: snapshots-kept
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 8
ROWS, COLUMNS = 320, 288
STEP_BACK = 3
LIMIT = 0.0085


class Pool:
    """Bed heights of the mill pool on a grid, with the gates at the west and the wheel race at the east."""

    def __init__(self, rng):
        self.rng = rng
        down, across = np.mgrid[0:ROWS, 0:COLUMNS]
        self.centre = np.exp(-((down - ROWS / 2.0) / 60.0) ** 2)
        self.near_gate = np.exp(-across / 90.0)
        self.near_race = np.exp(-(COLUMNS - across) / 90.0)
        self.bed = 0.2 * rng.standard_normal((ROWS, COLUMNS)) - self.centre
        self.smooth(4)

    def smooth(self, times):
        """Mud creeps down its slopes."""
        for _ in range(times):
            bed = self.bed
            sides = np.roll(bed, 1, 0) + np.roll(bed, -1, 0) + np.roll(bed, 1, 1) + np.roll(bed, -1, 1)
            self.bed = bed + 0.12 * (sides - 4.0 * bed)

    def depth(self, level):
        return np.clip(level - self.bed, 0.02, None)

    def flood(self, level, step):
        """Mud settles where the flood slows down."""
        load = 0.03 * self.near_gate * (0.6 + 0.4 * self.rng.random())
        self.bed += step * load * self.depth(level) / 3.0
        self.smooth(1)

    def ebb(self, level, step):
        """Scour towards the race; gives the greatest change of the bed."""
        speed = self.near_race * self.centre / self.depth(level)
        scour = step * 0.02 * np.clip(speed - 0.15, 0.0, 1.5) * (0.5 + 1.2 * self.rng.random())
        self.bed -= scour
        self.smooth(1)
        return float(scour.max())


class TideModel:
    """Steps the pool through the tides and goes back where a step was too bold."""

    def __init__(self, pool):
        self.pool = pool
        self.half_tide = 0
        self.step = 1.0
        self.went_back = 0
        self._surveys = {}

    def level(self):
        """High water over the sill, with springs and neaps."""
        return 1.6 + 0.4 * np.cos(self.half_tide * 2.0 * np.pi / 28.0)

    def advance(self):
        self._surveys[self.half_tide] = self.pool.bed.copy()  # grows keeps
        if self.half_tide % 2 == 0:
            self.pool.flood(self.level(), self.step)
            change = 0.0
        else:
            change = self.pool.ebb(self.level(), self.step)
        if change > LIMIT * self.step:
            self.go_back()
        else:
            self.step = min(1.0, self.step * 1.05)
        self.half_tide += 1

    def go_back(self):
        """Take up an earlier survey and run on from it with a smaller step."""
        earlier = max(self.half_tide - STEP_BACK, 0)
        if earlier in self._surveys:
            self.pool.bed = self._surveys[earlier].copy()
        self.step = max(0.3, self.step * 0.8)
        self.went_back += 1


def storage(pool):
    """Water that the pool holds at mean high water, in thousands of cubic metres."""
    return float(pool.depth(1.6).sum()) * 4.0 / 1000.0


def main():
    rng = np.random.default_rng(733)
    model = TideModel(Pool(rng))
    began = time.monotonic()
    next_line = 3.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        model.advance()
        if now >= next_line:
            race = float(model.pool.bed[ROWS // 2, -40:].mean())
            print(f"{now:6.1f} s  half tide {model.half_tide:5d}  storage {storage(model.pool):7.1f}"
                  f"  bed at the race {race:+.2f} m  step {model.step:.2f}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    print(f"{model.half_tide} half tides, went back {model.went_back} times, "
          f"storage {storage(model.pool):.1f}", flush=True)


if __name__ == "__main__":
    main()
