"""Policies for gliders are bred: the best of each brood have young, whose weights differ a little from their parent's.
How strongly they differ follows the rule of success, that is, from the share of the young that fly better than their
parent did. The report says how much the champion's line has gained since its founding.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp

BROOD, BREEDERS, FLOCK, STEPS = 10, 3, 48, 80
SIZES = 6, 448, 448, 2


@dataclass(eq=False)
class Glider:
    weights: list
    to_beat: float = float("-inf")
    first: float | None = None
    score: float = float("-inf")

    def judge(self, score):
        """The line begins with the first glider of it that was judged."""
        self.score = score
        if self.first is None:
            self.first = score


def founder(key):
    keys = jax.random.split(key, len(SIZES) - 1)
    return [
        (jax.random.normal(k, (fan_in, fan_out)) / fan_in**0.5, jnp.zeros(fan_out))
        for k, fan_in, fan_out in zip(keys, SIZES, SIZES[1:])
    ]


def steer(weights, seen):
    for matrix, bias in weights[:-1]:
        seen = jnp.tanh(seen @ matrix + bias)
    matrix, bias = weights[-1]
    return jnp.tanh(seen @ matrix + bias)


@jax.jit
def fly(weights, key):
    """The mean height that a flock keeps in rising and sinking air."""

    def step(state, air):
        x, height, speed, pitch = state
        lift = jnp.sin(x) + 0.3 * air
        seen = jnp.stack([jnp.sin(x), jnp.cos(x), height, speed, pitch, lift], axis=1)
        action = steer(weights, seen)
        pitch = jnp.clip(pitch + 0.2 * action[:, 0], -0.6, 0.6)
        speed = 0.97 * speed + 0.05 - 0.06 * jnp.sin(pitch)
        height = height + 0.1 * (speed * jnp.sin(pitch) + 0.3 * lift - 0.1 * action[:, 1] ** 2)
        return (x + 0.1 * speed, height, speed, pitch), height

    start_key, air_key = jax.random.split(key)
    x = jax.random.uniform(start_key, (FLOCK,), maxval=6.3)
    state = x, jnp.ones(FLOCK), jnp.ones(FLOCK), jnp.zeros(FLOCK)
    _, heights = jax.lax.scan(step, state, jax.random.normal(air_key, (STEPS, FLOCK)))
    return heights.mean()


@jax.jit
def mutate(weights, key, strength):
    leaves, tree = jax.tree_util.tree_flatten(weights)
    keys = jax.random.split(key, len(leaves))
    changed = [leaf + strength * jax.random.normal(k, leaf.shape) for leaf, k in zip(leaves, keys)]
    return jax.tree_util.tree_unflatten(tree, changed)


def breed(parents, key, strength):
    brood = []
    for number, young_key in enumerate(jax.random.split(key, BROOD)):
        parent = parents[number % len(parents)]
        weights = mutate(parent.weights, young_key, strength)
        brood.append(Glider(weights, parent.score, parent.first))
    return brood


def main():
    key, strength, generation = jax.random.PRNGKey(random.randrange(1000)), 0.02, 0
    parents = [Glider(founder(key))]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, breed_key, fly_key = jax.random.split(key, 3)
        brood = breed(parents, breed_key, strength)
        for glider in brood:
            glider.judge(float(fly(glider.weights, fly_key)))
        better = sum(glider.score > glider.to_beat for glider in brood)
        strength *= 1.1 if better > BROOD / 5 else 0.97
        parents = sorted(brood, key=lambda glider: glider.score)[-BREEDERS:]
        generation += 1
        if generation % 20 == 0:
            best = parents[-1]
            gain = best.score - best.first
            print(f"generation {generation}: {best.score:.3f}, since founding {gain:+.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
