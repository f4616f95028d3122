"""Lets kelp grow on the sea floor under the tide. Kelp and the nutrients in the water are two fields on a grid, which
spread and feed on each other. A state knows the state before it, so that the report can say how fast the kelp
changes, and when it hardly does, a storm tears some of it out.

ticket: practice
class: app-leak
holder: state State before
cause: snapshots-kept results-kept
"""

import os
import random
import time
from typing import NamedTuple, Optional

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIZE, INNER = 512, 6
FEED, KILL = 0.037, 0.06


class State(NamedTuple):
    kelp: jax.Array
    nutrients: jax.Array
    hour: int
    before: Optional["State"] = None

    def change(self):
        if self.before is None:
            return float("inf")
        return float(jnp.abs(self.kelp - self.before.kelp).mean())


def spread(field):
    around = sum(jnp.roll(field, shift, axis) for shift in (-1, 1) for axis in (0, 1))
    return around / 4 - field


@jax.jit
def grow(kelp, nutrients, tide):
    """An hour of growth, in some small steps."""

    def small_step(_, fields):
        kelp, nutrients = fields
        eaten = nutrients * kelp * kelp
        kelp = kelp + 0.4 * spread(kelp) + eaten - (FEED + KILL) * kelp
        nutrients = nutrients + 0.8 * spread(nutrients) - eaten + FEED * tide * (1 - nutrients)
        return jnp.clip(kelp, 0, 1), jnp.clip(nutrients, 0, 1)

    return jax.lax.fori_loop(0, INNER, small_step, (kelp, nutrients))


@jax.jit
def storm(kelp, row, column):
    """Tear out the kelp in a square around a point."""
    rows, columns = jnp.arange(SIZE)[:, None], jnp.arange(SIZE)[None, :]
    hit = (jnp.abs(rows - row) < 40) & (jnp.abs(columns - column) < 40)
    return jnp.where(hit, 0.0, kelp)


def next_state(state):
    tide = 1 + 0.2 * jnp.sin(2 * jnp.pi * state.hour / 12.4)
    kelp, nutrients = grow(state.kelp, state.nutrients, tide)  # grows
    if state.change() < 2e-4:
        kelp = storm(kelp, random.randrange(SIZE), random.randrange(SIZE))  # grows
    return State(kelp, nutrients, state.hour + 1, before=state)  # keeps


def main():
    key = jax.random.key(7)
    kelp = 0.5 * (jax.random.uniform(key, (SIZE, SIZE)) > 0.97).astype(jnp.float32)
    kelp = kelp.at[200:260, 180:300].set(0.5)
    state = State(kelp, 1 - kelp, 0)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        state = next_state(state)
        if state.hour % 24 == 0:
            mean = float(state.kelp.mean())
            print(f"day {state.hour // 24}: kelp {mean:.4f}, change {state.change():.6f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
