"""The tide runs through a bay, in shallow water, with jax. The levels at the gauges are written
as they come, and the file is closed at the end, by a stack of things to be done then.

ticket: practice
class: none
"""

import contextlib
import functools
import os
import random
import tempfile
import time
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIZE = 400


class Bay(NamedTuple):
    level: jax.Array
    east: jax.Array
    north: jax.Array


@functools.partial(jax.jit, static_argnames="rounds")
def flow(bay, hour, rounds=20):
    """Some rounds of the shallow water equations, with the tide at the western shore."""
    def step(number, bay):
        level = bay.level.at[:, 0].set(jnp.sin(0.4 * hour + 0.02 * number))
        east = 0.999 * bay.east - 0.2 * (jnp.roll(level, -1, 1) - level)
        north = 0.999 * bay.north - 0.2 * (jnp.roll(level, -1, 0) - level)
        level = level - 0.2 * (east - jnp.roll(east, 1, 1) + north - jnp.roll(north, 1, 0))
        return Bay(level, east.at[:, -1].set(0), north.at[-1].set(0))
    return jax.lax.fori_loop(0, rounds, step, bay)


class Gauges:
    """Levels at some places, in a file."""

    def __init__(self, folder):
        self.file = open(os.path.join(folder, "gauges.csv"), "w")
        self.places = np.random.default_rng(1).integers(0, SIZE, (12, 2))

    def write(self, hour, bay):
        levels = np.asarray(bay.level[self.places[:, 0], self.places[:, 1]])
        self.file.write(",".join([f"{hour:.2f}", *(f"{level:.4f}" for level in levels)]) + "\n")


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    hour = 0.0
    with contextlib.ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory())
        gauges = Gauges(folder)
        closing.callback(gauges.file.close)
        bay = Bay(*(jnp.zeros((SIZE, SIZE)) for _ in range(3)))
        step = 0
        while time.time() < end:
            bay = flow(bay, hour)
            hour += 0.05
            step += 1
            if step % 3 == 0:
                gauges.write(hour, bay)
            if step % 60 == 0:
                print("hour", round(hour, 1), "highest", round(float(bay.level.max()), 3), flush=True)
            if random.random() < 0.02:
                gust = jnp.asarray(np.random.default_rng(step).normal(0, 0.01, (SIZE, SIZE)), jnp.float32)
                bay = bay._replace(east=bay.east + gust)
            time.sleep(random.uniform(0.02, 0.06))


if __name__ == "__main__":
    main()
