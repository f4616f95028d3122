"""From the spectrum of a yarn a network in jax tells which dyes are in it, and how much of each. The step gives out
metrics besides the loss, with the predictions, from which at the end of an epoch the mean loss and the error of each
dye come. They stay on the device until then, so that the steps need not wait.

ticket: practice
class: app-leak
holder: batch_metrics
cause: results-kept buffer-without-bound
"""

import functools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

BANDS, DYES, BATCH, WIDTH = 256, 12, 1024, 128


def start(key):
    one, two, three = jax.random.split(key, 3)
    return {
        "in": 0.06 * jax.random.normal(one, (BANDS, WIDTH)),
        "mix": 0.09 * jax.random.normal(two, (WIDTH, WIDTH)),
        "out": 0.09 * jax.random.normal(three, (WIDTH, DYES)),
    }


def network(params, spectra):
    seen = jax.nn.gelu(spectra @ params["in"])
    seen = jax.nn.gelu(seen @ params["mix"])
    return jax.nn.softplus(seen @ params["out"]), seen


def loss_of(params, spectra, shares):
    guessed, seen = network(params, spectra)
    return jnp.mean((guessed - shares) ** 2), (guessed, seen)


@functools.partial(jax.jit, static_argnums=3)
def train_step(params, spectra, shares, rate):
    (loss, (guessed, seen)), slopes = jax.value_and_grad(loss_of, has_aux=True)(params, spectra, shares)
    params = jax.tree_util.tree_map(lambda value, slope: value - rate * slope, params, slopes)
    return params, {"loss": loss, "error": jnp.abs(guessed - shares), "features": seen}


class Dyeing:
    """Spectra of yarns that were dyed with a few of the dyes each."""

    def __init__(self):
        waves = np.linspace(0, 1, BANDS)
        self.curves = np.exp(-(((waves - np.random.uniform(0, 1, (DYES, 1))) / 0.08) ** 2)).astype(np.float32)

    def batch(self):
        shares = np.random.uniform(0, 1, (BATCH, DYES)) * (np.random.uniform(0, 1, (BATCH, DYES)) < 0.3)
        spectra = shares @ self.curves + np.random.normal(0, 0.02, (BATCH, BANDS))
        return spectra.astype(np.float32), shares.astype(np.float32)


class Trainer:
    def __init__(self):
        self.params, self.dyeing = start(jax.random.PRNGKey(7)), Dyeing()
        self.batch_metrics = []

    def epoch(self):
        steps = random.choice((12, 16, 20))
        for _ in range(steps):
            self.params, metrics = train_step(self.params, *self.dyeing.batch(), 0.05)  # grows
            self.batch_metrics.append(metrics)  # keeps
            time.sleep(random.uniform(0.02, 0.12))
        return self.summary(steps)

    def summary(self, steps):
        last = self.batch_metrics[-steps:]
        errors = sum(np.asarray(metrics["error"]).mean(0) for metrics in last) / steps
        awake = float(sum(jnp.mean(metrics["features"] > 0) for metrics in last)) / steps
        return float(sum(metrics["loss"] for metrics in last)) / steps, int(errors.argmax()), awake


def main():
    trainer, epochs = Trainer(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss, worst, awake = trainer.epoch()
        epochs += 1
        print("epoch", epochs, "loss", round(loss, 4), "worst dye", worst, "awake", round(awake, 3), flush=True)


if __name__ == "__main__":
    main()
