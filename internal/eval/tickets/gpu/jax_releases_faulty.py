"""A service predicts with weights that are trained and released again all the time. Of the last two releases
either may be asked for.
Each release compiles its own function over its weights, and none is taken back.

ticket: jax-ml/jax#282
class: app-leak
holder: predictors
cause: compiled-functions-kept cache-without-bound snapshots-kept
"""

import dataclasses
import functools
import logging
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

log = logging.getLogger("releases")


@dataclasses.dataclass
class Config:
    width: int = 2048
    batch: int = 32
    release_every: float = 1.5
    pause: float = 0.04
    seconds: float = float(os.environ.get("SECONDS", "40"))


def init_params(key, width):
    sizes = [(256, width), (width, width), (width, 8)]
    keys = jax.random.split(key, len(sizes))
    return [{"w": jax.random.normal(k, s) / s[0] ** 0.5, "b": jnp.zeros(s[1])} for k, s in zip(keys, sizes)]


def forward(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


@jax.jit
def train_step(params, x, y, rate):
    def loss_of(params):
        return jnp.mean((forward(params, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads), loss  # grows


class Registry:
    """The released models, by their version."""

    def __init__(self):
        self.predictors, self.latest = {}, 0

    def release(self, params):
        self.latest += 1
        self.predictors[self.latest] = jax.jit(functools.partial(forward, params))

    def predict(self, x, back=0):
        version = max(1, self.latest - back)
        return np.asarray(self.predictors[version](x))


class Source:
    def __init__(self, config, seed=0):
        self.config, self.rng = config, np.random.default_rng(seed)
        self.teacher = self.rng.normal(size=(256, 8)).astype(np.float32) / 16

    def batch(self):
        x = self.rng.normal(size=(self.config.batch, 256)).astype(np.float32)
        return x, x @ self.teacher


def serve(config):
    source, registry = Source(config), Registry()
    params = init_params(jax.random.PRNGKey(0), config.width)
    registry.release(params)
    end, release_at, answered = time.time() + config.seconds, time.time() + config.release_every, 0
    while time.time() < end:
        for _ in range(random.randint(2, 6)):
            params, loss = train_step(params, *source.batch(), 0.02)
            time.sleep(config.pause)
        for _ in range(random.randint(1, 4)):
            registry.predict(source.batch()[0], back=random.choice([0, 0, 0, 1]))
            answered += 1
            time.sleep(config.pause)
        if time.time() > release_at:
            registry.release(params)
            release_at = time.time() + config.release_every * random.uniform(0.5, 1.5)
            log.info("release %d: loss %.4f, answered %d", registry.latest, float(loss), answered)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("jax").setLevel(logging.WARNING)
    serve(Config())
