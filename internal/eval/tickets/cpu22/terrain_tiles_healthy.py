"""A survey drone follows a river and draws its map from reprojected terrain tiles.  The planner asks for the tiles
around the drone and for some that it has just passed, as the camera looks back now and then.  A tile is costly to
reproject, so it is used again while it stays in view.

ticket: practice
class: none
"""
import math
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 5
IDLE_S = 7.0
TILE = 384
SOURCE = 2048


class Tile:
    """One reprojected tile and when it was last asked for."""

    __slots__ = ("heights", "used")

    def __init__(self, heights, used):
        self.heights = heights
        self.used = used


class Terrain:
    """The raw survey of the valley, from which tiles are reprojected."""

    def __init__(self, rng):
        self.raw = rng.gamma(2.0, 12.0, (SOURCE, SOURCE)).astype(np.float32)
        self.steps = np.arange(TILE)

    def reproject(self, row, col):
        skew = (row * 31 + col * 17) % 97
        rows = (row * TILE + self.steps + skew) % SOURCE
        cols = (col * TILE + self.steps * 2) % SOURCE
        block = self.raw[np.ix_(rows, cols)]
        return np.sqrt(block * (1.0 + 0.01 * skew))


class TileStore:
    """Reprojected tiles by row and column."""

    def __init__(self, terrain, idle):
        self.terrain = terrain
        self.idle = idle
        self._tiles = {}
        self.hits = 0
        self.misses = 0

    def lookup(self, key, now):
        tile = self._tiles.get(key)
        if tile is not None:
            tile.used = now
        return tile

    def get(self, key, now):
        tile = self.lookup(key, now)
        if tile is None:
            self.misses += 1
            tile = Tile(self.terrain.reproject(*key), now)
            self._tiles[key] = tile
        else:
            self.hits += 1
        return tile.heights

    def expire(self, now):
        for key in list(self._tiles):
            used = self._tiles[key].used
            if now - used > self.idle:
                del self._tiles[key]


class Flight:
    """The path of the drone down the valley, in tiles."""

    def __init__(self):
        self.row = 0
        self.col = 500.0

    def advance(self):
        self.row += 1
        self.col += 1.5 * math.sin(self.row / 9.0)

    def in_view(self):
        middle = int(self.col)
        ahead = [(self.row + 1, middle), (self.row + 1, middle + 1)]
        here = [(self.row, middle), (self.row, middle + 1)]
        return ahead + here

    def behind(self, distance):
        return [(max(0, self.row - distance), int(self.col))]


def clearance(blocks, altitude):
    """Least room between the drone and the ground in the tiles seen."""
    return altitude - max(float(b.max()) for b in blocks)


def main():
    rng = np.random.default_rng(2203)
    terrain = Terrain(rng)
    store = TileStore(terrain, IDLE_S)
    flight = Flight()
    lowest = math.inf
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        now = time.monotonic()
        flight.advance()
        keys = flight.in_view()
        if rounds % 4 == 0:
            keys += flight.behind(int(rng.integers(2, 6)))
        blocks = [store.get(key, now) for key in keys]
        room = clearance(blocks, altitude=180.0)
        lowest = min(lowest, room)
        if rounds % ROUNDS_A_SECOND == 0:
            store.expire(now)
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            print(f"row {flight.row:5d}  clearance {room:6.1f} m  lowest {lowest:6.1f} m  "
                  f"hits {store.hits}  reprojected {store.misses}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"survey flown: {flight.row} rows, lowest clearance {lowest:.1f} m", flush=True)


if __name__ == "__main__":
    main()
