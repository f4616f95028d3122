"""Saffron is graded by its spectrum. A network is trained on spectra from the trade, and every few steps it is scored
on those of a reference laboratory. When the loss there has not fallen for a while, training goes back to the best
weights so far and goes on with half the learning rate.

ticket: practice
class: app-leak
holder: history EarlyStopping stopper
cause: snapshots-kept
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

BANDS, GRADES, BATCH, WIDTH = 256, 5, 64, 768
SHAPES = (BANDS, WIDTH), (WIDTH, WIDTH), (WIDTH, GRADES)


def start(key):
    keys = jax.random.split(key, len(SHAPES))
    return [{"weights": jax.random.normal(key, shape) * (2 / shape[0]) ** 0.5, "bias": jnp.zeros(shape[1])}
            for key, shape in zip(keys, SHAPES)]


def logits(params, spectra):
    for layer in params[:-1]:
        spectra = jax.nn.relu(spectra @ layer["weights"] + layer["bias"])
    return spectra @ params[-1]["weights"] + params[-1]["bias"]


@jax.jit
def loss(params, spectra, grades):
    log_probs = jax.nn.log_softmax(logits(params, spectra))
    return -jnp.take_along_axis(log_probs, grades[:, None], axis=1).mean()


@jax.jit
def train_step(params, momentum, spectra, grades, rate):
    gradient = jax.grad(loss)(params, spectra, grades)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, gradient)
    return jax.tree_util.tree_map(lambda p, m: p - rate * m, params, momentum), momentum


class EarlyStopping:
    """Knows how good the weights were at each evaluation."""

    def __init__(self, patience):
        self.patience, self.history, self.since = patience, [], 0

    def add(self, value, params):
        self.since = 0 if not self.history or value < self.best()[0] else self.since + 1
        self.history.append((value, params))  # keeps

    def best(self):
        return min(self.history, key=lambda entry: entry[0])

    def out_of_patience(self):
        return self.since >= self.patience


class Samples:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.peaks = np.random.default_rng(1).normal(size=(GRADES, BANDS)).cumsum(axis=1) / 16

    def draw(self, count):
        grades = self.random.integers(GRADES, size=count)
        noise = self.random.normal(0, 1.5, (count, BANDS))
        return (self.peaks[grades] + noise).astype(np.float32), grades.astype(np.int32)


def main():
    params, trade, stopper = start(jax.random.PRNGKey(0)), Samples(2), EarlyStopping(patience=6)
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    laboratory, rate = Samples(3).draw(256), 1e-3
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        params, momentum = train_step(params, momentum, *trade.draw(BATCH), rate)  # grows
        step += 1
        if step % 8 == 0:
            value = float(loss(params, *laboratory))
            stopper.add(value, params)
            if stopper.out_of_patience():
                best, params = stopper.best()
                momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
                stopper.since, rate = 0, max(rate / 2, 1e-5)
                print(f"step {step}: back to the weights with loss {best:.4f}, learning rate {rate:.5f}", flush=True)
            elif step % 40 == 0:
                print(f"step {step}: loss {value:.4f}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
