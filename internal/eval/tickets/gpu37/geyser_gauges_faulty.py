"""Learns to fill in what broken gauges around a geyser would have shown. The training step is compiled as a whole; a
callback out of it hands the residuals to a monitor, which tells from the spread of the last steps whether the
learning rate should be halved.

ticket: practice
class: host-growth
holder: monitor Monitor residuals
cause: results-kept buffer-without-bound
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import functools
import random
import time

import jax
import jax.numpy as jnp
import numpy as np

GAUGES, HIDDEN, BATCH = 1024, 256, 256
LOOK_BACK, SHARE = 20, 0.95


class Monitor:
    """Follows how large the residuals are that only a few exceed."""

    def __init__(self):
        self.residuals = []
        self.best = float("inf")

    def add(self, residuals):
        self.residuals.append(np.array(residuals))  # grows keeps

    def spread(self):
        return float(np.median([np.quantile(some, SHARE) for some in self.residuals[-LOOK_BACK:]]))

    def stuck(self):
        spread = self.spread()
        better = spread < 0.999 * self.best
        self.best = min(self.best, spread)
        return not better


def init(key):
    one, two = jax.random.split(key)
    return {
        "down": jax.random.normal(one, (GAUGES, HIDDEN)) / GAUGES ** 0.5,
        "up": jax.random.normal(two, (HIDDEN, GAUGES)) / HIDDEN ** 0.5,
        "bias": jnp.zeros(GAUGES),
    }


def fill_in(params, shown):
    return jnp.tanh(shown @ params["down"]) @ params["up"] + params["bias"]


def loss_of(params, shown, true):
    residuals = jnp.abs(fill_in(params, shown) - true)
    return jnp.mean(residuals ** 2), residuals


@jax.jit
def eruption(key, modes):
    """What the gauges show, some of them being broken, and what is true."""
    one, two = jax.random.split(key)
    true = jnp.sin(jax.random.normal(one, (BATCH, modes.shape[0])) @ modes)
    return jnp.where(jax.random.uniform(two, true.shape) < 0.2, 0.0, true), true


def make_step(monitor):
    @functools.partial(jax.jit, donate_argnums=0)
    def step(params, rate, shown, true):
        (loss, residuals), grads = jax.value_and_grad(loss_of, has_aux=True)(params, shown, true)
        jax.debug.callback(monitor.add, residuals)
        return jax.tree_util.tree_map(lambda param, grad: param - rate * grad, params, grads), loss

    return step


def main():
    key, monitor = jax.random.key(0), Monitor()
    step = make_step(monitor)
    key, one, two = jax.random.split(key, 3)
    params, modes = init(one), jax.random.normal(two, (12, GAUGES)) / 4
    rate, count = 5.0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, fresh = jax.random.split(key)
        params, loss = step(params, rate, *eruption(fresh, modes))
        count += 1
        if count % LOOK_BACK == 0:
            jax.effects_barrier()
            if monitor.stuck():
                rate = max(rate / 2, 0.1)
            print(f"step {count}: loss {float(loss):.4f}, spread {monitor.best:.3f}, rate {rate:.2f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
