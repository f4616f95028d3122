"""Frost watch of a cider orchard in blossom: night temperatures on a grid of the slopes.

The cold runs down the slope and pools in the hollows. A few burners are lit where the mean of the last
readings falls below the limit of the blossom, and the watch prints how much of the orchard is in danger.

ticket: practice
class: app-leak
holder: _readings
cause: buffer-without-bound
"""
import os
import time
from collections import deque
from functools import partial
from itertools import islice

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS, COLUMNS = 512, 512
READINGS_PER_SECOND = 6.0
MEAN_OVER = 10
READINGS_HELD = 12
BLOSSOM_LIMIT = -1.5


@jax.jit
def make_slopes(key: jax.Array) -> jax.Array:
    """Heights of the orchard, smoothed from noise, from 0 to 1."""
    ground = jax.random.uniform(key, (ROWS, COLUMNS))
    for _ in range(6):
        ground = (ground + jnp.roll(ground, 7, 0) + jnp.roll(ground, -7, 0)
                  + jnp.roll(ground, 7, 1) + jnp.roll(ground, -7, 1)) / 5.0
    return (ground - ground.min()) / (ground.max() - ground.min())


@jax.jit
def cool_down(air: jax.Array, slopes: jax.Array, burners: jax.Array, sky: jax.Array, key: jax.Array) -> jax.Array:
    """One reading further: radiation to the sky, cold air downhill, heat from the burners."""
    mixed = (4.0 * air + jnp.roll(air, 1, 0) + jnp.roll(air, -1, 0)
             + jnp.roll(air, 1, 1) + jnp.roll(air, -1, 1)) / 8.0
    pooling = 2.4 * (slopes - 0.5)
    gusts = 0.2 * jax.random.normal(key, (ROWS, COLUMNS))
    return mixed + 0.05 * (sky + pooling - mixed) + 0.4 * burners + gusts


@jax.jit
def danger(mean_air: jax.Array) -> tuple[jax.Array, jax.Array]:
    cold = mean_air < BLOSSOM_LIMIT
    return cold.astype(jnp.float32), cold.mean()


@partial(jax.jit, donate_argnums=0)
def light_burners(burners: jax.Array, cold: jax.Array) -> jax.Array:
    return 0.8 * burners + 0.2 * cold


class ReadingBook:
    """The last readings of the night, newest at the end."""

    def __init__(self, held: int | None = None):
        self._readings: deque[jax.Array] = deque(maxlen=held)

    def add(self, air: jax.Array) -> None:
        self._readings.append(air)  # keeps

    def mean(self, count: int) -> jax.Array:
        total, used = 0.0, 0
        for air in islice(reversed(self._readings), count):
            total = total + air
            used += 1
        return total / used


class FrostWatch:
    def __init__(self, seed: int):
        self.key, slopes_key = jax.random.split(jax.random.PRNGKey(seed))
        self.slopes = make_slopes(slopes_key)
        self.air = 3.0 + self.slopes
        self.burners = jnp.zeros((ROWS, COLUMNS))
        self.book = ReadingBook()
        self.readings = 0

    def sky(self) -> float:
        """Temperature that the sky draws to, clear and cloudy by turns."""
        return -4.0 if (self.readings // 60) % 2 == 0 else -0.5

    def read(self) -> float:
        self.readings += 1
        self.key, gust_key = jax.random.split(self.key)
        self.air = cool_down(self.air, self.slopes, self.burners, jnp.float32(self.sky()), gust_key)  # grows
        self.book.add(self.air)
        cold, share = danger(self.book.mean(MEAN_OVER))
        self.burners = light_burners(self.burners, cold)
        return float(share)


def main() -> None:
    watch = FrostWatch(seed=47)
    began = time.monotonic()
    next_report = began + 2.0
    share = 0.0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        share = watch.read()
        if started >= next_report:
            coldest = float(watch.air.min())
            print(f"reading {watch.readings}: coldest {coldest:.1f} C, {share:.1%} in danger", flush=True)
            next_report = started + 3.0
        time.sleep(max(0.0, 1.0 / READINGS_PER_SECOND - (time.monotonic() - started)))
    print(f"sun is up after {watch.readings} readings, {share:.1%} of the orchard in danger", flush=True)


if __name__ == "__main__":
    main()
