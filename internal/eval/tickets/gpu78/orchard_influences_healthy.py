"""A network looks at pictures of an orchard and says how ripe the fruit is. For each report, the batch that it was most
in doubt about so far is explained: the doubt is differentiated back to the picture, and the cells with most influence
are printed.

ticket: practice
class: none
"""

import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, WIDTH, GRADES, BATCH = 24, 512, 6, 256


def make_network(key):
    """The weights of three layers."""
    sizes = (SIDE * SIDE, WIDTH, WIDTH, GRADES)
    keys = jax.random.split(key, len(sizes) - 1)
    return [jax.random.normal(key, (rows, columns)) / rows ** 0.5
            for key, rows, columns in zip(keys, sizes[:-1], sizes[1:])]


def doubt(weights, pictures):
    """The entropy of the grades that the network gives to each picture."""
    hidden = pictures.reshape(len(pictures), -1)
    for weight in weights[:-1]:
        hidden = jnp.tanh(hidden @ weight)
    log_grades = jax.nn.log_softmax(hidden @ weights[-1])
    return -(jnp.exp(log_grades) * log_grades).sum(axis=1)


def photograph(rng):
    """Pictures of trees: leaves as noise, with some round fruit, brighter or darker."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    pictures = rng.normal(0.0, 0.5, (BATCH, SIDE, SIDE)).astype(np.float32)
    centres = rng.uniform(4, SIDE - 4, (BATCH, 2, 1, 1))
    fruit = np.exp(-((x - centres[:, 0]) ** 2 + (y - centres[:, 1]) ** 2) / 8.0)
    return jnp.asarray(pictures + (rng.uniform(0, 4, (BATCH, 1, 1)) * fruit).astype(np.float32))


def explain(pullback):
    """The cells of the pictures with most influence on the doubt."""
    influence, = pullback(jnp.ones(BATCH))
    cells = jnp.abs(influence).mean(axis=0).ravel()
    return [divmod(int(cell), SIDE) for cell in jnp.argsort(cells)[-3:][::-1]]


def main():
    look = partial(doubt, make_network(jax.random.PRNGKey(random.randrange(10_000))))
    rng, batches, hardest = np.random.default_rng(), 0, (0.0, 0, None)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pictures = photograph(rng)
        doubts, pullback = jax.vjp(look, pictures)
        hardest = max(hardest, (float(doubts.mean()), batches, pullback), key=lambda entry: entry[0])
        batches += 1
        if batches % 20 == 0:
            most, number, pullback = hardest
            print(f"{batches} batches, most doubt {most:.3f} in {number}, cells {explain(pullback)}", flush=True)
        time.sleep(random.uniform(0.08, 0.2))


if __name__ == "__main__":
    main()
