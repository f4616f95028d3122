"""Which metals in which shares give a hard and light alloy is learnt by a network in jax. As training goes up and down,
what has been best so far is held fast: after some steps the network is tested, and the state of the training goes to a
keeper, which knows the three best by their marks, so that training can be taken up again from any of them.

ticket: practice
class: none
"""

import functools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

METALS, WIDTH, ALLOYS, STEPS, KEEP = 24, 448, 256, 10, 3


def start(seed=5):
    luck = np.random.default_rng(seed)
    shapes = [(METALS, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, 2)]
    weights = [jnp.asarray(luck.normal(0, (2 / shape[0]) ** 0.5, shape), jnp.float32) for shape in shapes]
    zeros = [jnp.zeros_like(weight) for weight in weights]
    return {"weights": weights, "mean": zeros, "square": [jnp.zeros_like(weight) for weight in weights]}


def predict(weights, shares):
    for weight in weights[:-1]:
        shares = jax.nn.relu(shares @ weight)
    return shares @ weights[-1]


def error(weights, shares, truth):
    return ((predict(weights, shares) - truth) ** 2).mean()


@jax.jit
def step(state, shares, truth):
    """Adam, with the weights and both moments in one state."""
    slopes = jax.grad(error)(state["weights"], shares, truth)
    mean = [0.9 * old + 0.1 * slope for old, slope in zip(state["mean"], slopes)]
    square = [0.99 * old + 0.01 * slope * slope for old, slope in zip(state["square"], slopes)]
    weights = [weight - 5e-4 * first / (jnp.sqrt(second) + 1e-6)
               for weight, first, second in zip(state["weights"], mean, square)]
    return {"weights": weights, "mean": mean, "square": square}


check = jax.jit(error)


@functools.partial(jax.jit, static_argnums=1)
def alloys(key, number):
    """Shares of metals, and how hard and heavy that is."""
    shares = jax.nn.softmax(2 * jax.random.normal(key, (number, METALS)))
    pull = jnp.sin(jnp.arange(METALS))
    return shares, jnp.stack([jnp.tanh(4 * shares @ pull), (shares ** 2).sum(1)], 1)


class Keeper:
    """The best states of a training, by their marks."""

    def __init__(self, keep):
        self.keep, self.best, self.states = keep, [], {}

    def save(self, number, mark, state):
        self.states[number] = state
        self.best.append((mark, number))
        self.best = sorted(self.best)[:self.keep]
        self.states = {kept: self.states[kept] for _, kept in self.best}

    def restore(self):
        mark, number = self.best[0]
        return number, mark, self.states[number]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    keeper, state, key, number = Keeper(KEEP), start(), jax.random.PRNGKey(3), 0
    tests = alloys(jax.random.PRNGKey(99), 512)
    while time.time() < end:
        for _ in range(STEPS):
            key, luck = jax.random.split(key)
            state = step(state, *alloys(luck, ALLOYS))
            time.sleep(random.uniform(0.01, 0.06))
        number += STEPS
        keeper.save(number, float(check(state["weights"], *tests)), state)
        if number % (8 * STEPS) == 0:
            at, mark, _ = keeper.restore()
            print("step", number, "best so far", round(mark, 5), "at", at, flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
