"""Keeps landing aircraft clear of the wakes of those before them.

The tower computes how the pair of vortices behind an aircraft drifts and decays across the approach, and reads off
when the next may follow. Aircraft of one type in the same wind share one field, so a field that is there already is
taken again.

ticket: practice
class: app-leak
holder: fields
cause: cache-without-bound
"""
import os
import random
import time
from collections import OrderedDict

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
HEIGHTS = 384
DISTANCES = 768
TYPES = {"light": 12.0, "medium": 36.0, "heavy": 60.0, "super": 80.0}
ROOM = 12
READINGS = 5
PAUSE = 0.15


@jax.jit
def wake_field(span, crosswind, headwind):
    """The speed of the air around the vortex pair, over height and distance."""
    height = jnp.linspace(0.0, 300.0, HEIGHTS)[:, None]
    distance = jnp.linspace(0.0, 9000.0, DISTANCES)[None, :]
    age = distance / (75.0 - headwind)
    sink = 200.0 - 1.4 * age
    drift = crosswind * age
    left = jnp.sqrt((height - sink) ** 2 + (drift - span / 2) ** 2 + 4.0)
    right = jnp.sqrt((height - sink) ** 2 + (drift + span / 2) ** 2 + 4.0)
    return span * jnp.exp(-age / 60.0) * (1.0 / left + 1.0 / right)


@jax.jit
def clear_distance(field, limit):
    """The share of the approach where the wake is stronger than the limit."""
    return jnp.mean(jnp.max(field, axis=0) > limit)


class Anemometer:
    """Wind along and across the runway, a mean over the last minute."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.across = 2.0
        self.along = 6.0

    def read(self):
        self.across = 0.95 * self.across + self.random.gauss(0.1, 0.3)
        self.along = 0.95 * self.along + self.random.gauss(0.3, 0.3)
        return round(self.across, 3), round(self.along, 3)


class WakeDesk:
    """Wake fields by aircraft type and wind."""

    def __init__(self):
        self.fields = OrderedDict()
        self.computed = 0
        self.shared = 0

    def field(self, kind, wind):
        key = (kind, wind)
        if key in self.fields:
            self.shared += 1
            self.fields.move_to_end(key)
            return self.fields[key]
        self.computed += 1
        field = wake_field(TYPES[kind], wind[0], wind[1])  # grows
        self.fields[key] = field  # keeps
        return field


class Approach:
    """The stream of landing aircraft."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.anemometer = Anemometer(seed + 1)
        self.desk = WakeDesk()
        self.wind = self.anemometer.read()
        self.landings = 0
        self.blocked = 0.0

    def land(self):
        if self.landings % READINGS == 0:
            self.wind = self.anemometer.read()
        kind = self.random.choice(list(TYPES))
        field = self.desk.field(kind, self.wind)
        self.blocked = float(clear_distance(field, 0.8))
        self.landings += 1
        return kind


def main():
    approach = Approach(seed=14)
    began = time.monotonic()
    spoken = began
    while time.monotonic() - began < SECONDS:
        kind = approach.land()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            desk = approach.desk
            print(f"landing {approach.landings}: {kind}, blocked {approach.blocked:.3f}, "
                  f"{desk.computed} computed, {desk.shared} shared", flush=True)
        time.sleep(PAUSE)
    print(f"runway closed after {approach.landings} landings", flush=True)


if __name__ == "__main__":
    main()
