"""Evolves controllers for a glider: a population of networks (all their weights in one flat array each) is flown in
gusty air, the better ones have children. Every individual knows its parent, so that at the end the family of the winner
can be drawn.

ticket: practice
class: app-leak
holder: parent Individual population
cause: results-kept snapshots-kept buffer-without-bound
"""

import os
import random
import time
from dataclasses import dataclass
from typing import Optional

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SENSES, HIDDEN, STEPS = 8, 768, 40
GENES = SENSES * HIDDEN + HIDDEN * HIDDEN + HIDDEN
POPULATION, SURVIVORS = 6, 2


@dataclass(eq=False)
class Individual:
    genes: jax.Array
    born: int
    parent: Optional["Individual"] = None
    height: float = 0.0


def control(genes, senses):
    first = genes[:SENSES * HIDDEN].reshape(SENSES, HIDDEN)
    second = genes[SENSES * HIDDEN:-HIDDEN].reshape(HIDDEN, HIDDEN)
    hidden = jnp.tanh(jnp.tanh(senses @ first) @ second)
    return jnp.tanh(hidden @ genes[-HIDDEN:])


@jax.jit
def fly(genes, key):
    """Height after a flight through gusts."""

    def move(state, gust):
        height, speed, pitch = state
        senses = jnp.stack([height, speed, pitch, gust, jnp.sin(pitch), jnp.cos(pitch), speed * pitch, 1.0])
        pitch = 0.9 * pitch + 0.1 * control(genes, senses)
        speed = jnp.clip(speed - 0.05 * jnp.sin(pitch) - 0.01 * speed, 0.1, 3)
        height = height + 0.05 * speed * jnp.sin(pitch) + 0.05 * gust - 0.02
        return (height, speed, pitch), height

    start = (jnp.float32(1.0), jnp.float32(1.0), jnp.float32(0.0))
    (height, _, _), _ = jax.lax.scan(move, start, 0.5 * jax.random.normal(key, (STEPS,)))
    return height


@jax.jit
def mutate(genes, key, size):
    return genes + size * jax.random.normal(key, genes.shape)


def child(parent, generation, key):
    genes = mutate(parent.genes, key, 10 ** random.uniform(-2.5, -1.5))  # grows
    return Individual(genes, generation, parent=parent)  # keeps


def main():
    key = jax.random.PRNGKey(5)
    population = [Individual(0.05 * jax.random.normal(one, (GENES,)), 0) for one in jax.random.split(key, POPULATION)]
    end, said, generation = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
    while time.time() < end:
        generation += 1
        key, air, births = jax.random.split(key, 3)
        for individual in population:
            individual.height = float(fly(individual.genes, air))
        population.sort(key=lambda individual: individual.height, reverse=True)
        # the old ones go, their best children stay
        survivors = population[:SURVIVORS]
        population = [child(random.choice(survivors), generation, one)
                      for one in jax.random.split(births, POPULATION)]
        if time.time() - said > 2:
            said = time.time()
            print("generation", generation, "best height", round(survivors[0].height, 3), "its parent was born in",
                  survivors[0].parent.born if survivors[0].parent else None, flush=True)
        time.sleep(random.uniform(0.1, 0.35))
    family, one = [], max(population, key=lambda individual: individual.height)
    while one is not None:
        family.append(one.born)
        one = one.parent
    print("family of", len(family), "generations, since", family[-1], flush=True)


if __name__ == "__main__":
    main()
