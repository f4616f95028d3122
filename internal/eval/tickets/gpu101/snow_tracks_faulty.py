"""Snow temperature along a cross-country skiing stadium.

The snow under the tracks is computed as a vertical sheet, from the surface down, for all places of the loop. Sun,
wind and night sky drive the surface; heat then moves through the pack. The organisers want to know how much the
snow has changed over the last two hours, since that decides when the tracks are set again.

ticket: practice
class: app-leak
holder: _profiles
cause: buffer-without-bound
"""
import math
import os
import time
from collections import deque
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 8
LAYERS = 64
PLACES = 2560
MINUTES_A_ROUND = 5
SUBSTEPS = 10


@partial(jax.jit, static_argnames="substeps")
def advance(snow, shade, air, sun, substeps=SUBSTEPS):
    """Moves the temperature of the pack on by one round."""

    def substep(_, pack):
        gain = 0.04 * (air - pack[0]) + sun * (1 - shade) - 0.02
        top = pack[0] + gain
        padded = jnp.concatenate([top[None], pack, pack[-1:]], axis=0)
        moved = pack + 0.2 * (padded[:-2] - 2 * pack + padded[2:])
        return jnp.minimum(moved.at[0].add(0.1 * gain), 0.0)

    return jax.lax.fori_loop(0, substeps, substep, snow)


@jax.jit
def change(now, then):
    difference = jnp.abs(now[:8] - then[:8])
    return difference.mean(), difference.max()


@jax.jit
def glazed(snow):
    return (snow[0] > -0.5).mean()


class Profile(NamedTuple):
    minute: int
    snow: Any


class Weather:
    """Air temperature and sun over the day."""

    def at(self, minute):
        phase = 2 * math.pi * (minute % 1440) / 1440
        air = -6.0 - 5.0 * math.cos(phase)
        sun = max(0.0, -math.cos(phase)) * 0.12
        return air, sun


class SnowPack:
    """The snow of the loop, with its profiles of the last hours."""

    def __init__(self, seed, opened, span):
        shade_key, snow_key = jax.random.split(jax.random.PRNGKey(seed))
        self.shade = jax.random.uniform(shade_key, (PLACES,))
        noise = jax.random.normal(snow_key, (LAYERS, PLACES))
        depth = jnp.linspace(-9.0, -2.0, LAYERS)[:, None]
        self.snow = jnp.minimum(depth + 0.3 * noise, 0.0)
        self.opened = opened
        self.minute = opened
        self.span = span
        self._profiles = deque()

    def step(self, air, sun):
        self.minute += MINUTES_A_ROUND
        self.snow = advance(self.snow, self.shade, air, sun)  # grows
        self._profiles.append(Profile(self.minute, self.snow))  # keeps
        earliest = self.opened - self.span
        while self._profiles[0].minute < earliest:
            self._profiles.popleft()

    def swing(self):
        mean, largest = change(self.snow, self._profiles[0].snow)
        return float(mean), float(largest)


class Organisers:
    def __init__(self, limit):
        self.limit = limit
        self.last_set = 0
        self.settings = 0

    def consider(self, minute, swing):
        if swing > self.limit and minute - self.last_set >= 120:
            self.last_set = minute
            self.settings += 1


def main():
    weather = Weather()
    pack = SnowPack(seed=1972, opened=360, span=120)
    organisers = Organisers(limit=0.8)
    started = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        pack.step(*weather.at(pack.minute))
        mean, largest = pack.swing()
        organisers.consider(pack.minute, mean)
        if number % 24 == 0:
            clock = f"{pack.minute // 60 % 24:02d}:{pack.minute % 60:02d}"
            print(f"{clock}  change {mean:.2f} (at most {largest:.2f})  glazed {float(glazed(pack.snow)):.2f}  "
                  f"tracks set {organisers.settings}", flush=True)
        number += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    hours = (pack.minute - pack.opened) / 60
    print(f"stadium closed after {hours:.0f} hours, tracks set {organisers.settings} times", flush=True)


if __name__ == "__main__":
    main()
