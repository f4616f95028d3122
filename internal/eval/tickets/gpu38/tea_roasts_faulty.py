"""A small network learns to foretell the colour of a tea from the heat curve of its roast. After each round it is
tried on roasts that it has not seen. The five best rounds together are the panel, and the mean of their answers is
the forecast.

ticket: practice
class: app-leak
holder: Panel rounds
cause: snapshots-kept
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

CURVE, HIDDEN, COLOURS = 96, 448, 3
BATCH, STEPS, MEMBERS, RATE = 64, 20, 5, 0.02


def start(key):
    sizes = CURVE, HIDDEN, HIDDEN, COLOURS
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"weight": jax.random.normal(k, (fan_in, fan_out)) / fan_in**0.5, "bias": jnp.zeros(fan_out)}
        for k, fan_in, fan_out in zip(keys, sizes, sizes[1:])
    ]


def forward(params, curves):
    hidden = curves
    for layer in params[:-1]:
        hidden = jnp.tanh(hidden @ layer["weight"] + layer["bias"])
    return hidden @ params[-1]["weight"] + params[-1]["bias"]


def roasts(key):
    """Heat curves and the colours that come of them."""
    peak, slope, noise = jax.random.split(key, 3)
    peaks = jax.random.uniform(peak, (BATCH, 1), minval=0.3, maxval=1.0)
    slopes = jax.random.uniform(slope, (BATCH, 1), minval=2.0, maxval=8.0)
    curves = peaks * jax.nn.sigmoid(slopes * jnp.linspace(-1, 1, CURVE))
    curves = curves + 0.02 * jax.random.normal(noise, curves.shape)
    return curves, jnp.concatenate([peaks, 1 - peaks, slopes / 8], axis=1)


def loss_of(params, curves, colours):
    return jnp.mean((forward(params, curves) - colours) ** 2)


@jax.jit
def train_round(params, key):
    def step(params, key):
        grads = jax.grad(loss_of)(params, *roasts(key))
        return jax.tree.map(lambda p, g: p - RATE * g, params, grads), None

    return jax.lax.scan(step, params, jax.random.split(key, STEPS))[0]


predict, test_loss = jax.jit(forward), jax.jit(loss_of)


class Panel:
    """The rounds by their loss, the best first."""

    def __init__(self):
        self.rounds = []

    def enter(self, loss, number, params):
        self.rounds.append((loss, number, params))  # keeps
        self.rounds.sort(key=lambda entry: entry[:2])

    def forecast(self, curves):
        return sum(predict(params, curves) for *_, params in self.rounds[:MEMBERS]) / len(self.rounds[:MEMBERS])


def main():
    key, panel, number = jax.random.key(7), Panel(), 0
    key, first, test = jax.random.split(key, 3)
    params, (curves, colours) = start(first), roasts(test)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, now = jax.random.split(key)
        params = train_round(params, now)  # grows
        panel.enter(float(test_loss(params, curves, colours)), number, params)
        number += 1
        if number % 20 == 0:
            error = float(jnp.abs(panel.forecast(curves) - colours).mean())
            print(f"round {number}: panel off by {error:.4f}, best loss {panel.rounds[0][0]:.5f}", flush=True)
        time.sleep(random.uniform(0.04, 0.12))


if __name__ == "__main__":
    main()
