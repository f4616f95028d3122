"""Population based training for the homing of pigeons: a few networks learn to find the loft's direction from sun,
wind and landmarks, each with a learning rate of its own. In every generation the worst takes over the weights of the
best and a rate nearby. For the best one, the print-out tells the rates with which its forebears were trained.

ticket: practice
class: none
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import itertools
import random
import time
from dataclasses import dataclass
from typing import Any, Tuple

import jax
import jax.numpy as jnp

BIRDS, SIGNS, HIDDEN, FLIGHTS = 4, 128, 512, 256
STEPS, FOREBEARS = 3, 4


@dataclass
class Bird:
    name: str
    rate: float
    params: Any
    error: float = float("inf")
    earlier: Tuple[float, ...] = ()


def init(key):
    one, two, three = jax.random.split(key, 3)
    return {
        "enter": jax.random.normal(one, (SIGNS, HIDDEN)) / SIGNS ** 0.5,
        "inner": jax.random.normal(two, (HIDDEN, HIDDEN)) / HIDDEN ** 0.5,
        "leave": jax.random.normal(three, (HIDDEN, 2)) / HIDDEN ** 0.5,
    }


def loss_of(params, signs, homeward):
    hidden = jnp.tanh(signs @ params["enter"])
    hidden = jnp.tanh(hidden @ params["inner"])
    return jnp.mean((hidden @ params["leave"] - homeward) ** 2)


@jax.jit
def learn(params, rate, signs, homeward):
    grads = jax.grad(loss_of)(params, signs, homeward)
    return jax.tree_util.tree_map(lambda param, grad: param - rate * grad, params, grads)


evaluate = jax.jit(loss_of)


@jax.jit
def flights(key, landmarks):
    signs = jax.random.normal(key, (FLIGHTS, SIGNS))
    return signs, jnp.sin(signs @ landmarks)


def train(bird, keys, landmarks):
    """The bird of the next generation."""
    params = bird.params
    for _ in range(STEPS):
        params = learn(params, bird.rate, *flights(next(keys), landmarks))
    error = float(evaluate(params, *flights(next(keys), landmarks)))
    return Bird(bird.name, bird.rate, params, error, earlier=(bird.rate,) + bird.earlier[:FOREBEARS - 2])


def forebears(bird):
    return " < ".join(f"{rate:.4f}" for rate in (bird.rate,) + bird.earlier)


def key_stream(seed):
    key = jax.random.key(seed)
    while True:
        key, fresh = jax.random.split(key)
        yield fresh


def main():
    keys = key_stream(0)
    landmarks = jax.random.normal(next(keys), (SIGNS, 2)) / SIGNS ** 0.5
    population = [Bird(f"bird {n}", random.uniform(0.01, 0.2), init(next(keys))) for n in range(BIRDS)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for generation in itertools.count(1):
        if time.time() > end:
            break
        population = sorted((train(bird, keys, landmarks) for bird in population), key=lambda bird: bird.error)
        best, worst = population[0], population[-1]
        worst.params, worst.earlier = best.params, best.earlier
        worst.rate = min(best.rate * random.choice((0.8, 1.25)), 0.3)
        if generation % 10 == 0:
            print(f"generation {generation}: {best.name} {best.error:.3f}, {forebears(best)}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
