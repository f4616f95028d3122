"""Watches of people in a gym send how their arms move, in jax: a stream of blocks of many watches at once. The stream
goes two ways. At once, repetitions are counted; and for the report of the day it is asked how hard each exercise was.
The report looks at one block now and then only, as it need not be quick, and is finished when the gym has closed.

ticket: practice
class: app-leak
holder: tee later
cause: buffer-without-bound unbounded-queue results-kept
"""

import itertools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

WATCHES, MOMENTS, AXES = 96, 1024, 3


@jax.jit
def arms(key, tempo, start):
    """Turning and lifting of all arms, each at its own tempo, and how it trembles."""
    moment = start + jnp.arange(MOMENTS) / 50.0
    swing = jnp.sin(tempo[:, None] * moment)
    axes = jnp.stack([swing, jnp.roll(swing, 9, 1) * 0.5, jnp.abs(swing) * 0.3], -1)
    return axes + 0.1 * jax.random.normal(key, axes.shape)


@jax.jit
def repetitions(block):
    """How often each arm went up through the middle, when smoothed."""
    smooth = jnp.cumsum(block[..., 0], 1)
    smooth = (smooth[:, 25:] - smooth[:, :-25]) / 25
    return ((smooth[:, 1:] > 0) & (smooth[:, :-1] <= 0)).sum(1)


@jax.jit
def effort(block):
    """How much the arms are jerked about, on the whole."""
    return jnp.sqrt(jnp.square(jnp.diff(block, axis=1)).sum(-1)).mean(1)


def blocks(end):
    """What the watches send until the gym closes."""
    key, start = jax.random.PRNGKey(5), 0.0
    tempo = jax.random.uniform(key, (WATCHES,), minval=1.0, maxval=4.0)
    while time.time() < end:
        key, luck, drift = jax.random.split(key, 3)
        tempo = jnp.clip(tempo + 0.05 * jax.random.normal(drift, tempo.shape), 0.8, 5.0)
        yield arms(luck, tempo, start)  # grows
        start += MOMENTS / 50.0


class Report:
    """Each time the next block is looked at, and averaged with those before it."""

    def __init__(self, stream):
        self.stream, self.mean, self.looked = stream, jnp.zeros(WATCHES), 0

    def look(self):
        block = next(self.stream, None)
        if block is not None:
            self.looked += 1
            self.mean = self.mean + (effort(block) - self.mean) / self.looked

    def hardest(self):
        return int(self.mean.argmax()), float(self.mean.max())


def main():
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    at_once, later = itertools.tee(blocks(end))  # keeps
    report, counted, taken = Report(later), jnp.zeros(WATCHES, jnp.int32), 0
    for block in at_once:
        counted = counted + repetitions(block)
        taken += 1
        if taken % 25 == 0:
            report.look()
        if time.time() - said > 2:
            said = time.time()
            print("blocks", taken, "repetitions", int(counted.sum()), "most", int(counted.max()), flush=True)
        time.sleep(random.uniform(0.1, 0.35))
    print("looked at", report.looked, "blocks; hardest: watch", *report.hardest(), flush=True)


if __name__ == "__main__":
    main()
