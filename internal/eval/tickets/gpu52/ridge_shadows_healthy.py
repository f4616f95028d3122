"""Shades the tiles of a mountain map by the sun for a hiking portal. The sun moves on through the day, and at each
moment several hikers look at neighbouring tiles: a tile that more than one of them needs is shaded once and taken from
the cache for the others.

ticket: practice
class: none
"""

import functools
import math
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, GRID, HIKERS, REACH = 512, 4, 3, 24


def ridge(seed):
    """Heights of a tile, as a sum of a few waves."""
    draw = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32) / SIDE
    heights = np.zeros((SIDE, SIDE), np.float32)
    for octave in range(1, 7):
        across, down, phase = draw.uniform(-6, 6, 3)
        heights += np.sin(octave * (across * columns + down * rows) + phase).astype(np.float32) / octave
    return 40.0 * heights


HEIGHTS = {
    (row, column): jnp.asarray(ridge(GRID * row + column)) for row in range(GRID) for column in range(GRID)
}


@jax.jit
def shade(heights, azimuth, altitude):
    """Lambert's light, dimmed where a ridge towards the sun is higher than the ray."""
    down, across = jnp.gradient(heights)
    slope = jnp.arctan(jnp.hypot(across, down))
    aspect = jnp.arctan2(down, -across)
    light = jnp.sin(altitude) * jnp.cos(slope) + jnp.cos(altitude) * jnp.sin(slope) * jnp.cos(azimuth - aspect)

    def walk(step, shadow):
        rows = jnp.round(step * jnp.sin(azimuth)).astype(jnp.int32)
        columns = jnp.round(step * jnp.cos(azimuth)).astype(jnp.int32)
        ahead = jnp.roll(jnp.roll(heights, rows, 0), columns, 1)
        return jnp.maximum(shadow, ahead - heights - step * jnp.tan(altitude))

    shadow = jax.lax.fori_loop(1, REACH, walk, jnp.zeros_like(heights))
    return jnp.clip(light, 0.0, 1.0) * jnp.where(shadow > 0, 0.4, 1.0)


@functools.lru_cache(maxsize=32)
def shaded(tile, azimuth, altitude):
    return shade(HEIGHTS[tile], azimuth, altitude)


class Hiker:
    def __init__(self):
        self.row, self.column = random.randrange(GRID), random.randrange(GRID)

    def stroll(self):
        if random.random() < 0.3:
            self.row = (self.row + random.choice((-1, 0, 1))) % GRID
            self.column = (self.column + random.choice((-1, 0, 1))) % GRID

    def view(self):
        """The tile that the hiker is on and the one to its right."""
        return (self.row, self.column), (self.row, (self.column + 1) % GRID)


def sun(minute):
    """Azimuth and altitude of the sun, in radians."""
    day = (minute % 720) / 720
    return math.pi * day, 0.15 + 0.9 * math.sin(math.pi * day)


def main():
    hikers = [Hiker() for _ in range(HIKERS)]
    minute = 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    shown = 0
    while time.time() < end:
        azimuth, altitude = sun(minute)
        brightness = 0.0
        for hiker in hikers:
            hiker.stroll()
            for tile in hiker.view():
                brightness += float(shaded(tile, azimuth, altitude).mean())
        minute += random.uniform(0.5, 1.5)
        shown += 1
        if shown % 20 == 0:
            print(f"minute {minute:.0f}: mean light {brightness / (2 * HIKERS):.3f}", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
