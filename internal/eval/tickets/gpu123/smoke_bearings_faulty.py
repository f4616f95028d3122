"""Cross bearings from a ring of fire towers.

Every tower reports the bearing of the haze that it sees, with an error of a degree or two. The bearings of a round
are laid over the map of the district as soft rays; what stands out against the rounds of the last two seconds is a
new column of smoke, and its place on the map is handed to the ground crews.

ticket: practice
class: app-leak
holder: frames
cause: buffer-without-bound
"""
import math
import os
import time
from collections import deque
from dataclasses import dataclass

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
TOWERS = 9
ROWS, COLUMNS = 256, 512
BACKDROP_ROUNDS = 12


@dataclass
class RayFrame:
    at: float
    likelihood: cp.ndarray


class District:
    """Towers on a ring, the map grid, and fires that come and go."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        turn = np.arange(TOWERS) * 2.0 * math.pi / TOWERS
        self.towers = np.stack([2.0 + 1.8 * np.cos(turn), 1.0 + 0.9 * np.sin(turn)], axis=1)
        self.grid_x = cp.linspace(0.0, 4.0, COLUMNS, dtype=cp.float32)[None, :]
        self.grid_y = cp.linspace(0.0, 2.0, ROWS, dtype=cp.float32)[:, None]
        self.fire = self.random.uniform([0.5, 0.3], [3.5, 1.7])

    def drift(self, round_number):
        if round_number % 60 == 0:
            self.fire = self.random.uniform([0.5, 0.3], [3.5, 1.7])
        self.fire = self.fire + self.random.normal(0.0, 0.005, 2)

    def bearings(self):
        offset = self.fire - self.towers
        exact = np.arctan2(offset[:, 1], offset[:, 0])
        return exact + self.random.normal(0.0, 0.02, TOWERS)


def cast_rays(district, bearings):
    """Sum over the towers of a soft ray along each bearing."""
    total = cp.zeros((ROWS, COLUMNS), dtype=cp.float32)  # grows
    for (east, north), bearing in zip(district.towers, bearings):
        angle = cp.arctan2(district.grid_y - float(north), district.grid_x - float(east))
        gap = cp.abs(angle - float(bearing))
        gap = cp.minimum(gap, 2.0 * math.pi - gap)
        total += cp.exp(-(gap / 0.04) ** 2)
    return total


class BearingBackdrop:
    """Frames of the last moments and the light that they have in common."""

    def __init__(self, horizon_ms=2000.0):
        self.horizon_ms = horizon_ms
        self._frames = deque()

    def add(self, at, likelihood):
        self._frames.append(RayFrame(at, likelihood))  # keeps
        while at - self._frames[0].at > self.horizon_ms:
            self._frames.popleft()

    def common(self):
        count = min(BACKDROP_ROUNDS, len(self._frames))
        total = cp.zeros((ROWS, COLUMNS), dtype=cp.float32)
        for place in range(1, count + 1):
            total += self._frames[-place].likelihood
        return total / max(1, count)


class CrossBearing:
    """Finds the place where the fresh rays meet."""

    def __init__(self, district):
        self.district = district
        self.backdrop = BearingBackdrop()
        self.errors = deque(maxlen=3 * ROUNDS_PER_SECOND)

    def locate(self, now):
        rays = cast_rays(self.district, self.district.bearings())
        fresh = rays - 0.3 * self.backdrop.common()
        self.backdrop.add(now, rays)
        row, column = divmod(int(cp.argmax(fresh)), COLUMNS)
        place = np.array([4.0 * column / (COLUMNS - 1), 2.0 * row / (ROWS - 1)])
        self.errors.append(float(np.hypot(*(place - self.district.fire))))
        return place


def main():
    district = District(53)
    crossing = CrossBearing(district)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        district.drift(rounds)
        place = crossing.locate(time.monotonic() - start)
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            mean = sum(crossing.errors) / len(crossing.errors)
            print(f"round {rounds}: smoke at {place.round(2).tolist()}, mean error {mean:.3f}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"watch ended after {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
