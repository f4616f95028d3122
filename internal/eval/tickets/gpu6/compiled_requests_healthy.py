"""A scorer compiles its function ahead of time, so that no request waits in the middle, and keeps what is compiled by
the length of the request, rounded up to one of a few.

ticket: jax-ml/jax#16778
class: none
"""

import logging
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

log = logging.getLogger("scorer")
LONGEST = 900


def layers(key, depth=5, width=64):
    keys = jax.random.split(key, depth)
    return [{"w": jax.random.normal(k, (width, width)) * 0.1, "b": jnp.zeros(width)} for k in keys]


def score(params, x, length):
    mask = (jnp.arange(len(x)) < length)[:, None]
    for layer in params:
        mixed = jax.nn.softmax(jnp.where(mask.T, x @ x.T / 8.0, -1e9)) @ x
        x = x + jnp.tanh(mixed @ layer["w"] + layer["b"])
    return jnp.sum(jnp.where(mask, x, 0.0), axis=0) / length


class Scorer:
    def __init__(self, seed=0):
        self.params = layers(jax.random.PRNGKey(seed))
        self.function = jax.jit(score)
        self.programs, self.requests = {}, 0

    def size(self, length):
        return next(size for size in (128, 256, 512, LONGEST) if size >= length)

    def program(self, size):
        if size not in self.programs:
            x = jax.ShapeDtypeStruct((size, 64), jnp.float32)
            length = jax.ShapeDtypeStruct((), jnp.int32)
            self.programs[size] = self.function.lower(self.params, x, length).compile()
        return self.programs[size]

    def __call__(self, rows):
        size = self.size(len(rows))
        x = np.zeros((size, 64), np.float32)
        x[:len(rows)] = rows
        self.requests += 1
        return np.asarray(self.program(size)(self.params, x, np.int32(len(rows))))


def requests(end):
    rng = np.random.default_rng()
    while time.time() < end:
        for _ in range(random.randint(1, 4)):
            yield rng.normal(size=(random.randint(20, LONGEST), 64)).astype(np.float32)
            time.sleep(random.uniform(0.1, 0.4))
        time.sleep(random.choice([0.1, 0.6]))


def main():
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("jax").setLevel(logging.WARNING)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    scorer = Scorer()
    for rows in requests(end):
        scorer(rows)
        if scorer.requests % 20 == 0:
            log.info("%d requests, %d programs", scorer.requests, len(scorer.programs))


if __name__ == "__main__":
    main()
