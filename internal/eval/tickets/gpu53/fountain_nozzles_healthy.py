"""How should the nozzles of a fountain be set so that the spray covers the basin? Simulated annealing of many layouts
at once, with restarts. An album listens to each restart, and says at its end how far the layouts wandered.

ticket: practice
class: none
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

LAYOUTS, NOZZLES, SPOTS, MOVES = 512, 96, 128, 20


def roughness(layout, spots):
    """How unevenly the spots of the basin get wet: each nozzle sprays around where it aims."""
    aims = layout[:, :2] + 0.2 * jnp.stack([jnp.cos(layout[:, 2]), jnp.sin(layout[:, 2])], 1)
    gaps = ((spots[:, None] - aims[None]) ** 2).sum(-1)
    wet = jnp.exp(-40 * gaps).sum(1)
    return wet.std() / (wet.mean() + 1e-6)


@jax.jit
def anneal(key, layouts, spots, heat):
    """A few moves of every layout, each taken or not by the rule of Metropolis."""
    rough = jax.vmap(roughness, (0, None))

    def move(carry, key):
        layouts, worth = carry
        shift_key, take_key = jax.random.split(key)
        tried = layouts + 0.02 * jax.random.normal(shift_key, layouts.shape)
        after = rough(tried, spots)
        take = jax.random.uniform(take_key, worth.shape) < jnp.exp((worth - after) / heat)
        return (jnp.where(take[:, None, None], tried, layouts), jnp.where(take, after, worth)), None

    return jax.lax.scan(move, (layouts, rough(layouts, spots)), jax.random.split(key, MOVES))[0]


class Album:
    """Pictures of the layouts through one restart."""

    def __init__(self):
        self.pictures = []

    def add(self, layouts):
        self.pictures.append(layouts)

    def wandered(self):
        return float(np.abs(self.pictures[-1] - self.pictures[0]).mean())


class Annealer:
    def __init__(self, seed):
        self.key = jax.random.PRNGKey(seed)
        self.spots = jax.random.uniform(jax.random.PRNGKey(1), (SPOTS, 2))
        self.listeners = []

    def restart(self, rounds=14):
        self.key, start = jax.random.split(self.key)
        layouts = jax.random.uniform(start, (LAYOUTS, NOZZLES, 3))
        for turn in range(rounds):
            self.key, key = jax.random.split(self.key)
            layouts, worth = anneal(key, layouts, self.spots, 0.05 * 0.8 ** turn)
            picture = np.array(layouts)
            for listener in self.listeners:
                listener(picture)
            time.sleep(random.uniform(0.04, 0.1))
        return float(worth.min())


def main():
    annealer, restarts, best = Annealer(random.getrandbits(31)), 0, float("inf")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        album = Album()
        annealer.listeners.append(album.add)
        best = min(best, annealer.restart())
        annealer.listeners.remove(album.add)
        restarts += 1
        print(f"restart {restarts}: layouts wandered {album.wandered():.3f}, best roughness {best:.3f}", flush=True)


if __name__ == "__main__":
    main()
