"""The pond of a tide mill from flood to ebb, as a shallow basin on a grid.

The sea gates let the flood in, the pond stands full at high water, and the mill runs it down through the wheel race
once the creek is low enough. The miller reads the drawdown over the last twelve hours and the head that the wheel
has at its disposal.

ticket: practice
class: none
"""

import math
import os
import time
from collections import deque

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
MINUTES_PER_ROUND = 30
WINDOW_HOURS = 12
ROWS = 512
COLUMNS = 512
TIDE_MINUTES = 12.42 * 60


@jax.jit
def advance(level, bed, sea, draw):
    """Half an hour of the pond: spreading, inflow along the sea wall, outflow at the race."""

    def spread(_, water):
        padded = jnp.pad(water, 1, mode="edge")
        around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        return water + 0.2 * (around - 4.0 * water)

    level = jax.lax.fori_loop(0, 6, spread, level)
    gate = jnp.maximum(sea - level[:, :4], 0.0)
    level = level.at[:, :4].add(0.6 * gate)
    level = level.at[240:272, -4:].add(-draw)
    return jnp.maximum(level, bed)


@jax.jit
def drawdown(first, last):
    return jnp.mean(first - last), jnp.max(jnp.abs(first - last))


class TideTable:
    """Height of the sea outside the gates, with springs and neaps."""

    def height(self, minute):
        spring = 1.0 + 0.25 * math.cos(2.0 * math.pi * minute / (14.77 * 24 * 60))
        return 2.0 * spring * math.sin(2.0 * math.pi * minute / TIDE_MINUTES)


class LevelRecord:
    """The pond's levels over the last hours, oldest first."""

    def __init__(self, window_hours):
        self.window_hours = window_hours
        self._levels = deque()

    def add(self, minute, level):
        self._levels.append((minute, level))
        oldest = minute - self.window_hours * 60
        while self._levels[0][0] < oldest:
            self._levels.popleft()

    def change(self, minute):
        since = minute - self.window_hours * 60
        first = next(level for stamp, level in self._levels if stamp >= since)
        mean, largest = drawdown(first, self._levels[-1][1])
        return float(mean), float(largest)


class Mill:
    """The pond, the wheel and the miller's rule for opening the race."""

    def __init__(self, seed):
        key_bed, key_level, key_silt = jax.random.split(jax.random.key(seed), 3)
        self.bed = jax.random.uniform(key_bed, (ROWS, COLUMNS)) * 0.4 - 1.0
        self.level = jax.random.uniform(key_level, (ROWS, COLUMNS)) * 0.1 + 0.5
        self.silt = jax.random.uniform(key_silt, (24, ROWS, COLUMNS))
        self.tides = TideTable()
        self.record = LevelRecord(WINDOW_HOURS)
        self.minute = 0
        self.ground = 0.0

    def half_hour(self):
        sea = self.tides.height(self.minute)
        head = float(self.level[256, -8]) - sea
        draw = 0.3 if head > 0.8 else 0.0
        self.level = advance(self.level, self.bed, sea, draw)
        self.record.add(self.minute, self.level)
        self.minute += MINUTES_PER_ROUND
        self.ground += draw * max(head, 0.0)
        return head

    def silted(self):
        return float(self.silt[(self.minute // 60) % 24].mean())


def main():
    mill = Mill(seed=77)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        head = mill.half_hour()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            mean, largest = mill.record.change(mill.minute - MINUTES_PER_ROUND)
            print(
                f"hour {mill.minute // 60}: head {head:+.2f} m, drawdown {mean:+.3f} m (at most {largest:.3f}), "
                f"ground {mill.ground:.1f}, silt {mill.silted():.3f}",
                flush=True,
            )
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"race shut after {mill.minute // 60} hours, ground {mill.ground:.1f}", flush=True)


if __name__ == "__main__":
    main()
