"""Policies are evolved for novelty: a behaviour counts as new when it is far from those in an archive. The archive
has room for some generations, and a new one takes the place of one that is drawn.

ticket: practice
class: none
"""

import dataclasses
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp


@dataclasses.dataclass
class Settings:
    population: int = 96
    horizon: int = 160
    state: int = 24
    noise: float = 0.08
    room: int = 12


def rollout(policy, start, horizon):
    def move(state, _):
        state = 0.95 * state + 0.1 * jnp.tanh(state @ policy)
        return state, state

    return jax.lax.scan(move, start, None, length=horizon)[1]


def make_generation(settings):
    @jax.jit
    def generation(key, centre):
        noise = jax.random.normal(key, (settings.population,) + centre.shape)
        policies = centre + settings.noise * noise
        start = jnp.linspace(-1, 1, settings.state)
        return noise, jax.vmap(lambda policy: rollout(policy, start, settings.horizon))(policies)

    return generation


@jax.jit
def nearest(paths, old):
    """How far the end of each path is from the nearest of some old ones."""
    gaps = jnp.linalg.norm(paths[:, None, -1] - old[None, :, -1], axis=-1)
    return gaps.min(1)


@jax.jit
def improve(centre, noise, novelty):
    weights = (novelty - novelty.mean()) / (novelty.std() + 1e-6)
    return centre + 0.02 * jnp.tensordot(weights, noise, 1) / len(weights)


class Archive:
    def __init__(self, room):
        self.behaviours, self.room = [], room

    def add(self, paths):
        if len(self.behaviours) < self.room:
            self.behaviours.append(paths)
        else:
            self.behaviours[random.randrange(self.room)] = paths

    def novelty(self, paths):
        if not self.behaviours:
            return jnp.ones(len(paths))
        compared = random.sample(self.behaviours, min(4, len(self.behaviours)))
        return jnp.stack([nearest(paths, old) for old in compared]).min(0)


def main():
    settings, end = Settings(), time.time() + float(os.environ.get("SECONDS", "45"))
    generation, archive = make_generation(settings), Archive(settings.room)
    key, centre = jax.random.PRNGKey(3), jnp.zeros((settings.state, settings.state))
    number = 0
    while time.time() < end:
        key, part = jax.random.split(key)
        noise, paths = generation(part, centre)
        novelty = archive.novelty(paths)
        centre = improve(centre, noise, novelty)
        if float(novelty.max()) > 0.01:
            archive.add(paths)
        number += 1
        if number % 25 == 0:
            print("generation", number, "novelty", round(float(novelty.mean()), 4), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
