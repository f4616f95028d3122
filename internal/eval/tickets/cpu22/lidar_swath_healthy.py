"""A survey drone flies a lawnmower pattern over a quarry and sweeps the ground with a lidar.  The station on the ground
lays the sweeps of the last seconds side by side into a swath, from which it reads the roughness and the mean height.
A swath that is too rough is flown once more.

ticket: practice
class: none
"""
import collections
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 8
WINDOW_S = 8.0
BEAMS = 64
SHOTS = 900
CELL_M = 2.0
AREA_CELLS = 1500

Sweep = collections.namedtuple("Sweep", "taken lane points")


class Quarry:
    """The ground under the drone: a height field with benches and a little rubble."""

    def __init__(self, rng):
        self.heights = np.empty((AREA_CELLS, AREA_CELLS), dtype=np.float32)
        offsets = np.arange(AREA_CELLS) - AREA_CELLS / 2
        for row, offset in enumerate(offsets):
            benches = np.floor(np.hypot(offset, offsets) / 90.0) * 6.0
            self.heights[row] = benches + rng.normal(0.0, 0.3, AREA_CELLS)

    def at(self, east, north):
        rows = np.clip((north / CELL_M).astype(np.int64), 0, AREA_CELLS - 1)
        cols = np.clip((east / CELL_M).astype(np.int64), 0, AREA_CELLS - 1)
        return self.heights[rows, cols]


class Drone:
    """Flies lanes to and fro and looks down with a fan of beams."""

    def __init__(self, quarry, rng):
        self.quarry = quarry
        self.rng = rng
        self.east = 100.0
        self.north = 100.0
        self.heading = 1.0
        self.lane = 0
        self.fan = np.linspace(-30.0, 30.0, BEAMS, dtype=np.float32)

    def fly(self, dt):
        self.north += self.heading * 60.0 * dt
        if not 100.0 <= self.north <= AREA_CELLS * CELL_M - 100.0:
            self.heading = -self.heading
            self.lane += 1
            self.east = 100.0 + (self.lane * 45.0) % (AREA_CELLS * CELL_M - 200.0)

    def sweep(self, now):
        along = self.north + self.rng.uniform(0.0, 8.0, (SHOTS, 1)).astype(np.float32)
        north = np.broadcast_to(along, (SHOTS, BEAMS))
        east = self.east + self.fan + self.rng.normal(0.0, 0.1, (SHOTS, BEAMS)).astype(np.float32)
        points = np.empty((SHOTS, BEAMS, 3), dtype=np.float32)
        points[..., 0] = east
        points[..., 1] = north
        points[..., 2] = self.quarry.at(east, north)
        return Sweep(now, self.lane, points)


class SwathBuffer:
    """The sweeps that the station looks at together, in the order in which they were taken."""

    def __init__(self):
        self._sweeps = collections.deque()

    def __len__(self):
        return len(self._sweeps)

    def add(self, sweep):
        self._sweeps.append(sweep)

    def drop_before(self, limit):
        dropped = 0
        while self._sweeps and self._sweeps[0].taken < limit:
            self._sweeps.popleft()
            dropped += 1
        return dropped

    def latest(self, count):
        first = max(0, len(self._sweeps) - count)
        return [self._sweeps[i] for i in range(first, len(self._sweeps))]


def roughness(sweeps):
    """Spread of the heights about the mean of each beam, in metres."""
    spread = [float((s.points[..., 2] - s.points[..., 2].mean(axis=0)).std()) for s in sweeps]
    return sum(spread) / max(1, len(spread))


def main():
    rng = np.random.default_rng(2201)
    quarry = Quarry(rng)
    drone = Drone(quarry, rng)
    swath = SwathBuffer()
    refly = collections.deque(maxlen=50)
    start = time.time()
    rounds = 0
    while time.time() - start < SECONDS:
        now = time.time()
        drone.fly(1.0 / ROUNDS_A_SECOND)
        swath.add(drone.sweep(now))
        swath.drop_before(now - WINDOW_S)
        rough = roughness(swath.latest(4))
        if rough > 3.0:
            refly.append((drone.lane, round(rough, 2)))
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            mean = float(np.mean([s.points[..., 2].mean() for s in swath.latest(8)]))
            print(f"lane {drone.lane:3d}  mean height {mean:6.2f} m  roughness {rough:5.2f} m  refly {len(refly)}",
                  flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"landed after {rounds} sweeps on lane {drone.lane}", flush=True)


if __name__ == "__main__":
    main()
