"""Humidity in a cheese cellar.

Air moves between the shelves of a long vault; wheels give off moisture, a wet wall cools one end, and a vent draws dry
air in at the other. The model advances the field of humidity step by step, and a controller sets the vent from the
mean of the field so that rinds neither dry nor drip. A diary tells how the season went.

ticket: practice
class: none
"""

import os
import time
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS, COLUMNS = 512, 512
STEPS_A_ROUND = 4
ROUNDS_A_SECOND = 6
AIM = 0.88


def shelves(key):
    """Where wheels lie, and how moist each one is."""
    placed, moist = jax.random.split(key)
    rows = (jnp.arange(ROWS) % 16 < 6)[:, None]
    taken = jax.random.uniform(placed, (ROWS, COLUMNS)) < 0.7
    return jnp.where(rows & taken, 0.5 + 0.5 * jax.random.uniform(moist, (ROWS, COLUMNS)), 0.0)


def spread(field):
    """Diffusion with closed walls."""
    padded = jnp.pad(field, 1, mode="edge")
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return around - 4.0 * field


@partial(jax.jit, static_argnames="steps")
def advance(field, wheels, vent, draught, steps):
    """Some steps of the vault's air; gives the new field and its mean."""
    across = jnp.linspace(0.0, 1.0, COLUMNS)[None, :]

    def step(_, field):
        given = 0.006 * wheels * (1.0 - field)
        drawn = 0.03 * vent * across * field
        wall = 0.004 * (1.0 - across) * (0.95 - field)
        moved = 0.1 * draught * (jnp.roll(field, 1, axis=1) - field)
        return jnp.clip(field + 0.2 * spread(field) + given - drawn + wall + moved, 0.0, 1.0)

    field = jax.lax.fori_loop(0, steps, step, field)
    return field, field.mean()


class Vent:
    """A slow controller with a little memory of its own error."""

    def __init__(self):
        self.opening = 0.1
        self.error = 0.0

    def set(self, mean):
        self.error = 0.9 * self.error + 0.1 * (mean - AIM)
        self.opening = min(1.0, max(0.0, self.opening + 0.4 * (mean - AIM) + 0.05 * self.error))


class Cellar:
    """The vault, its vent, and the diary of the season."""

    def __init__(self, seed):
        self.key, first = jax.random.split(jax.random.PRNGKey(seed))
        self.wheels = shelves(first)
        self.field = jnp.full((ROWS, COLUMNS), 0.8)
        self.vent = Vent()
        self.mean = 0.8
        self._diary = []

    def draught(self):
        self.key, gust = jax.random.split(self.key)
        return float(jax.random.uniform(gust)) * 0.5

    def round(self):
        self.field, mean = advance(
            self.field, self.wheels, self.vent.opening, self.draught(), STEPS_A_ROUND)
        self.mean = float(mean)
        self.vent.set(self.mean)
        self._diary.append((self.mean, self.vent.opening))

    def driest(self):
        """The lowest humidity now, and the shelf row where it is."""
        by_row = self.field.min(axis=1)
        row = int(by_row.argmin())
        return row, float(by_row[row])

    def season(self):
        """How far open the vent was through the season, on the whole."""
        openings = [opening for _, opening in self._diary]
        return sum(openings) / max(1, len(openings))


def main():
    cellar = Cellar(seed=17)
    started = time.monotonic()
    reported = started
    rounds = 0
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        cellar.round()
        rounds += 1
        if begun - reported > 3.0:
            reported = begun
            row, low = cellar.driest()
            print(f"round {rounds}: mean {cellar.mean:.3f}, driest row {row} at {low:.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    print(f"season over: {rounds} rounds, vent open {cellar.season():.3f} on the whole", flush=True)


if __name__ == "__main__":
    main()
