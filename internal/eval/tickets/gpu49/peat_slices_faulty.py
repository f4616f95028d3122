"""Dates layers of peat cores from their spectra. The training imitates a pipeline of machines in which a gradient
comes some steps late: each batch goes forward with the newest weights, its pullback waits in flight, and the update of
a step is that of the batch a few steps before.

ticket: practice
class: app-leak
holder: in_flight pipeline Pipeline
cause: closure-kept buffer-without-bound
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

BANDS, WIDTH, BATCH = 64, 384, 256
DELAY, RATE, DECAY = 4, 0.02, 1e-4


def weights_of(key):
    sizes = [(BANDS, WIDTH), (WIDTH, WIDTH), (WIDTH, 1)]
    keys = jax.random.split(key, len(sizes))
    return [{"matrix": jax.random.normal(k, size) / np.sqrt(size[0]), "shift": jnp.zeros(size[1])}
            for k, size in zip(keys, sizes)]


def mean_error(weights, spectra, ages):
    hidden = spectra
    for layer in weights[:-1]:
        hidden = jnp.tanh(hidden @ layer["matrix"] + layer["shift"])
    dated = (hidden @ weights[-1]["matrix"] + weights[-1]["shift"])[:, 0]
    return jnp.mean((dated - ages) ** 2)


@jax.jit
def descend(weights, grads, rate):
    return jax.tree.map(lambda weight, grad: weight - rate * (grad + DECAY * weight), weights, grads)


class Pipeline:
    def __init__(self, weights):
        self.weights, self.step = weights, 0
        self.in_flight = {}

    def forward(self, spectra, ages):
        error, pullback = jax.vjp(lambda weights: mean_error(weights, spectra, ages), self.weights)  # grows
        self.in_flight[self.step] = pullback  # keeps
        return error

    def update(self, rate):
        """Applies the gradient that arrives now, if the pipeline is full."""
        due = self.step - DELAY
        if due >= 0:
            pullback = self.in_flight[due]
            grads, = pullback(jnp.float32(1.0))
            self.weights = descend(self.weights, grads, rate)  # grows
        self.step += 1


class Bog:
    """Where the cores come from."""

    def __init__(self):
        self.random = np.random.default_rng(11)
        self.trend = self.random.standard_normal(BANDS).astype(np.float32) / 8

    def batch(self):
        spectra = self.random.standard_normal((BATCH, BANDS)).astype(np.float32)
        ages = np.sin(2 * spectra @ self.trend) + 0.1 * self.random.standard_normal(BATCH).astype(np.float32)
        return jnp.asarray(spectra), jnp.asarray(ages)


def main():
    bog, pipeline, smooth = Bog(), Pipeline(weights_of(jax.random.PRNGKey(4))), None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        error = float(pipeline.forward(*bog.batch()))
        pipeline.update(RATE / (1 + pipeline.step / 1000))
        smooth = error if smooth is None else 0.9 * smooth + 0.1 * error
        if pipeline.step % 25 == 0:
            print(f"step {pipeline.step}: error {smooth:.4f}", flush=True)
        time.sleep(float(bog.random.uniform(0.08, 0.2)))


if __name__ == "__main__":
    main()
