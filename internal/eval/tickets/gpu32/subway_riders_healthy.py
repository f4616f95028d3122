"""Forecasts how many riders pass each gate of a subway station in the next hour from the last twelve. The learning rate
rises at first and then falls along a cosine, and starts anew after each cycle with a lower peak. The weights decay with
the rate, as in AdamW.

ticket: practice
class: none
"""

import math
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

GATES, HOURS, BATCH, WIDTH, BLOCKS, CYCLE = 16, 12, 32, 64, 4, 60


def start(random):
    def matrix(rows, columns):
        return jnp.asarray(random.normal(0, rows ** -0.5, (rows, columns)), jnp.float32)

    blocks = [{"times": matrix(HOURS, HOURS), "wide": matrix(WIDTH, 2 * WIDTH), "narrow": matrix(2 * WIDTH, WIDTH)}
              for _ in range(BLOCKS)]
    return {"enter": matrix(GATES, WIDTH), "blocks": blocks, "leave": matrix(WIDTH, GATES)}


def forecast(params, riders):
    hidden = riders @ params["enter"]
    for block in params["blocks"]:
        hidden = hidden + jnp.einsum("bhw,hk->bkw", jnp.tanh(hidden), block["times"])
        mean, spread = hidden.mean(axis=-1, keepdims=True), hidden.std(axis=-1, keepdims=True)
        hidden = hidden + jax.nn.gelu((hidden - mean) / (spread + 1e-5) @ block["wide"]) @ block["narrow"]
    return hidden[:, -1] @ params["leave"]


def error(params, riders, coming):
    return jnp.square(forecast(params, riders) - coming).mean()


@jax.jit
def train_step(params, first, second, riders, coming, rate, decay=0.01):
    value, gradient = jax.value_and_grad(error)(params, riders, coming)
    first = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree_util.tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
    params = jax.tree_util.tree_map(
        lambda p, m, v: p - rate * (m / (jnp.sqrt(v) + 1e-6) + decay * p), params, first, second)
    return params, first, second, value


def learning_rate(epoch, peak=3e-3, warm_up=6):
    cycle, place = divmod(epoch, CYCLE)
    peak *= 0.9 ** cycle
    if place < warm_up:
        return peak * (place + 1) / warm_up
    return peak * (0.05 + 0.475 * (1 + math.cos(math.pi * (place - warm_up) / (CYCLE - warm_up))))


def station(random):
    """Counts at the gates, as waves of a day with noise; the last hour is the one to be forecast."""
    hours = random.uniform(0, 24, (BATCH, 1, 1)) + np.arange(HOURS + 1)[None, :, None]
    rush = np.sin(hours * np.pi / 6 + np.arange(GATES)) + np.sin(hours * np.pi / 12)
    counts = (rush + random.normal(0, 0.2, rush.shape)).astype(np.float32)
    return counts[:, :-1], counts[:, -1]


def main():
    random = np.random.default_rng(4)
    params = start(random)
    first = second = jax.tree_util.tree_map(jnp.zeros_like, params)
    end, epoch = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        rate, total = learning_rate(epoch), 0.0
        for _ in range(4):
            params, first, second, value = train_step(params, first, second, *station(random), rate)
            total += float(value)
            time.sleep(0.02)
        epoch += 1
        if epoch % 5 == 0:
            print(f"epoch {epoch}: learning rate {rate:.5f}, error {total / 4:.4f}", flush=True)


if __name__ == "__main__":
    main()
