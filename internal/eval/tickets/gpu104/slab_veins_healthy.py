"""Marble blocks of a quarry are sawn into slabs, and the veins of a slab decide its price. A network of a few
convolutions learns to draw the veins from a photograph of the sawn face. Faces are made at random, each with veins as
bent lines, and the training reports its loss and how much of the vein area it misses.

ticket: practice
class: none
"""
import os
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 192
BATCH = 6
WIDTH = 12
STEPS_A_SECOND = 5.0
REPORT_EVERY = 2.0


class Outcome(NamedTuple):
    """What one step has to say: its loss and where on the slabs it errs."""

    loss: jax.Array
    misses: jax.Array


def init_params(key):
    shapes = {"first": (5, 5, 1, WIDTH), "second": (5, 5, WIDTH, WIDTH), "last": (1, 1, WIDTH, 1)}
    keys = jax.random.split(key, len(shapes))
    return {name: jax.random.normal(k, shape) / np.sqrt(np.prod(shape[:3]))
            for k, (name, shape) in zip(keys, shapes.items())}


def convolve(image, kernel):
    return jax.lax.conv_general_dilated(image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def draw_veins(params, face):
    hidden = jax.nn.relu(convolve(face, params["first"]))
    hidden = jax.nn.relu(convolve(hidden, params["second"]))
    return convolve(hidden, params["last"])


def loss_fn(params, face, veins):
    logits = draw_veins(params, face)
    log_p, log_q = jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)
    loss = -(4.0 * veins * log_p + (1.0 - veins) * log_q).mean()
    misses = veins * (1.0 - jax.nn.sigmoid(logits))
    return loss, misses


@jax.jit
def train_step(params, momentum, face, veins):
    (loss, misses), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, face, veins)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree_util.tree_map(lambda p, m: p - 0.02 * m, params, momentum)
    return params, momentum, Outcome(loss, misses)


class SawnFaces:
    """Photographs of sawn faces with the veins that a mason has marked."""

    def __init__(self, seed):
        self._dice = np.random.default_rng(seed)
        self._grid = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32) / SIDE

    def _veins(self):
        rows, columns = self._grid
        mask = np.zeros((SIDE, SIDE), dtype=np.float32)
        for _ in range(3):
            slope, offset, bend = self._dice.normal(size=3)
            line = rows - 0.5 - 0.3 * offset - slope * (columns - 0.5) - 0.05 * np.sin(12.0 * columns + bend)
            mask[np.abs(line) < 0.012] = 1.0
        return mask

    def batch(self):
        veins = np.stack([self._veins() for _ in range(BATCH)])[..., None]
        grain = self._dice.normal(scale=0.25, size=veins.shape).astype(np.float32)
        return 0.8 - 0.5 * veins + grain, veins


class Trainer:
    def __init__(self, seed=12):
        self.faces = SawnFaces(seed)
        self.params = init_params(jax.random.PRNGKey(seed))
        self.momentum = jax.tree_util.tree_map(jnp.zeros_like, self.params)
        self.steps = 0
        self.outcomes = []

    def step(self):
        face, veins = self.faces.batch()
        self.params, self.momentum, outcome = train_step(self.params, self.momentum, face, veins)
        self.outcomes.append(outcome)
        self.steps += 1

    def report(self):
        """Means over the steps, and the share of a slab that is vein but not drawn."""
        loss = np.mean([float(outcome.loss) for outcome in self.outcomes])
        missed = float(self.outcomes[-1].misses.mean())
        self.outcomes.clear()
        return f"step {self.steps}: loss {loss:.4f}, missed {100.0 * missed:.2f} % of the slab"


def main():
    trainer = Trainer()
    start = time.monotonic()
    next_line = start + REPORT_EVERY
    line = "no step yet"
    while time.monotonic() - start < SECONDS:
        trainer.step()
        if time.monotonic() >= next_line:
            line = trainer.report()
            print(line, flush=True)
            next_line = time.monotonic() + REPORT_EVERY
        time.sleep(1.0 / STEPS_A_SECOND)
    print(f"training over after {trainer.steps} steps; last report: {line}", flush=True)


if __name__ == "__main__":
    main()
