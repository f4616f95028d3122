"""Stakes in a glacier show how its surface sinks. Every flight of the drone gives a new height map, on which the
heights at the stakes are looked up many times while the stakes' places are being refined. The look-up is compiled so
that it is fast.

ticket: jax-ml/jax#282
class: none
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.ndimage import map_coordinates

SIDE, STAKES, ROUNDS = 1024, 200, 5


@jax.jit
def survey(key, sunk):
    """A height map: a slope with crevasses, lower than at the last flight."""
    rows, columns = jnp.meshgrid(jnp.linspace(0, 1, SIDE), jnp.linspace(0, 1, SIDE), indexing="ij")
    noise = jax.random.normal(key, (SIDE, SIDE))
    return 3000 - 400 * rows + 6 * jnp.sin(60 * rows + 9 * columns) + 0.2 * noise - sunk


@jax.jit
def lookup(heights, places):
    return map_coordinates(heights, [places[0], places[1]], order=1, mode="nearest")


class Glacier:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
        self.surface = None

    def fly(self, flight, sunk):
        self.surface = survey(jax.random.fold_in(self.key, flight), sunk)

    def heights(self, places):
        return lookup(self.surface, places)


def refine(glacier, places, rng):
    """Move each stake a little where that brings its height nearer to that of its neighbours."""
    best = np.asarray(glacier.heights(places))
    for _ in range(ROUNDS):
        moved = np.clip(places + rng.normal(0, 2, places.shape), 0, SIDE - 1).astype(np.float32)
        found = np.asarray(glacier.heights(moved))
        nearer = np.abs(found - np.roll(best, 1)) < np.abs(best - np.roll(best, 1))
        places, best = np.where(nearer, moved, places), np.where(nearer, found, best)
    return places, best


def main():
    rng = np.random.default_rng(5)
    glacier = Glacier(seed=5)
    places = rng.uniform(0, SIDE - 1, (2, STAKES)).astype(np.float32)
    flight, sunk = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        glacier.fly(flight, sunk)
        places, heights = refine(glacier, places, rng)
        flight += 1
        sunk += random.uniform(0.0, 0.1)
        if flight % 10 == 0:
            print(f"flight {flight}: the stakes are at {heights.mean():.1f} m on average", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
