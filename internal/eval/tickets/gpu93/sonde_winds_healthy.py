"""Winds from the flight of radiosondes.

A network learns the wind at sixteen levels from what a weather balloon reports on its way (position, pressure and
swing of the sonde). Training runs in short epochs on soundings that are drawn on the fly. Between epochs the
network is evaluated on a fixed set of soundings; the best weights so far are used for the published profile.

ticket: practice
class: none
"""
import itertools
import os
import time
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

REPORTS, LEVELS = 48, 16
SIZES = (REPORTS, 1280, 1280, 1280, 2 * LEVELS)
BATCH = 96
STEPS_PER_EPOCH = 10
PACE = 0.12
RATE = 3e-4
ROOM = 3


class Learner(NamedTuple):
    weights: list
    mean: list
    square: list
    count: jax.Array


def new_learner(key):
    weights = []
    for fan_in, fan_out in zip(SIZES[:-1], SIZES[1:]):
        key, inner = jax.random.split(key)
        weights.append({"w": jax.random.normal(inner, (fan_in, fan_out)) / jnp.sqrt(fan_in), "b": jnp.zeros(fan_out)})
    mean = jax.tree_util.tree_map(jnp.zeros_like, weights)
    square = jax.tree_util.tree_map(jnp.zeros_like, weights)
    return Learner(weights, mean, square, jnp.zeros((), jnp.int32))


def predict(weights, reports):
    hidden = reports
    for layer in weights[:-1]:
        hidden = jax.nn.gelu(hidden @ layer["w"] + layer["b"])
    return hidden @ weights[-1]["w"] + weights[-1]["b"]


def loss(weights, reports, winds):
    return jnp.mean((predict(weights, reports) - winds) ** 2)


def train_step(learner, reports, winds):
    value, slopes = jax.value_and_grad(loss)(learner.weights, reports, winds)
    count = learner.count + 1
    mean = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, learner.mean, slopes)
    square = jax.tree_util.tree_map(lambda s, g: 0.99 * s + 0.01 * g * g, learner.square, slopes)
    scale = RATE * jnp.sqrt(1 - 0.99 ** count) / (1 - 0.9 ** count)
    weights = jax.tree_util.tree_map(
        lambda w, m, s: w - scale * m / (jnp.sqrt(s) + 1e-8), learner.weights, mean, square)
    return Learner(weights, mean, square, count), value


class Soundings:
    """Draws flights: smooth winds with height, and the reports that a sonde in them would send."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.mixing = np.random.default_rng(5).standard_normal((2 * LEVELS, REPORTS)).astype(np.float32) / 4

    def batch(self, size):
        shear = self.rng.standard_normal((size, 2, LEVELS)).astype(np.float32)
        winds = np.cumsum(shear, axis=2).reshape(size, -1) / 4
        noise = 0.05 * self.rng.standard_normal((size, REPORTS)).astype(np.float32)
        return np.tanh(winds @ self.mixing) + noise, winds


class Shelf:
    """Weights by epoch, and how well they did."""

    def __init__(self):
        self.shelf = {}

    def put(self, epoch, weights, error):
        copy = jax.tree_util.tree_map(jnp.copy, weights)
        self.shelf[epoch] = (error, copy)
        if len(self.shelf) > ROOM:
            del self.shelf[max(self.shelf, key=lambda number: self.shelf[number][0])]

    def best(self):
        epoch = min(self.shelf, key=lambda number: self.shelf[number][0])
        return epoch, *self.shelf[epoch]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    step = jax.jit(train_step, donate_argnums=0)
    evaluate, profile = jax.jit(loss), jax.jit(predict)
    learner = new_learner(jax.random.PRNGKey(8))
    train, held_out = Soundings(1), Soundings(2).batch(256)
    shelf = Shelf()
    for epoch in itertools.count(1):
        for _ in range(STEPS_PER_EPOCH):
            started = time.time()
            learner, value = step(learner, *train.batch(BATCH))
            value.block_until_ready()
            time.sleep(max(0.0, PACE - (time.time() - started)))
        shelf.put(epoch, learner.weights, float(evaluate(learner.weights, *held_out)))
        if epoch % 3 == 0:
            number, error, weights = shelf.best()
            east = np.asarray(profile(weights, held_out[0][:1]))[0, :LEVELS:5]
            print(f"epoch {epoch}: train {float(value):.4f}, best {error:.4f} of epoch {number}, east {east}",
                  flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
