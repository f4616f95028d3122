"""Learns how long barges wait at the locks of a canal. The step takes over the buffers of the parameters, so copies
are put aside every few steps; when the loss jumps, the training goes back to the latest copy. Only copies of the last
dozen steps are of use.

ticket: practice
class: app-leak
holder: history Undo
cause: snapshots-kept buffer-without-bound
"""

import os
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

FEATURES, WIDTH, BATCH = 64, 512, 128
RATE, MOMENTUM = 0.01, 0.9
SAVE_EVERY, KEEP = 5, 12


def init_params(key):
    keys = jax.random.split(key, 4)
    sizes = (FEATURES, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, 1)
    return {
        f"dense_{number}": {
            "kernel": jax.random.normal(key, size) * size[0] ** -0.5,
            "bias": jnp.zeros(size[1]),
        }
        for number, (key, size) in enumerate(zip(keys, sizes))
    }


def predict(params, barges):
    hidden = barges
    for number in range(3):
        layer = params[f"dense_{number}"]
        hidden = jnp.tanh(hidden @ layer["kernel"] + layer["bias"])
    return (hidden @ params["dense_3"]["kernel"] + params["dense_3"]["bias"])[:, 0]


def loss_of(params, barges, waits):
    return jnp.mean((predict(params, barges) - waits) ** 2)


@partial(jax.jit, donate_argnums=(0,))
def train_step(state, barges, waits):
    params, velocity = state
    loss, grads = jax.value_and_grad(loss_of)(params, barges, waits)
    velocity = jax.tree_util.tree_map(lambda v, g: MOMENTUM * v + g, velocity, grads)
    params = jax.tree_util.tree_map(lambda p, v: p - RATE * v, params, velocity)
    return (params, velocity), loss


def copy(state):
    return jax.tree_util.tree_map(jnp.copy, state)  # grows


class Undo:
    def __init__(self):
        self.history = {}

    def save(self, step, state):
        self.history[step] = copy(state)  # keeps
        self.history.pop(step - KEEP, None)

    def latest(self):
        return copy(self.history[max(self.history)])


def traffic(rng):
    """A day of barges, and how long each of them waited; on some days the gauges are wrong."""
    barges = rng.standard_normal((BATCH, FEATURES), dtype=np.float32)
    waits = np.abs(barges[:, :8]).sum(axis=1) - 6 + 0.1 * rng.standard_normal(BATCH, dtype=np.float32)
    return barges, waits * (40 if rng.random() < 0.01 else 1)


def main():
    rng = np.random.default_rng(7)
    params = init_params(jax.random.key(0))
    state = params, jax.tree_util.tree_map(jnp.zeros_like, params)
    undo, step, mean, undone = Undo(), 0, 5.0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if step % SAVE_EVERY == 0:
            undo.save(step, state)
        state, loss = train_step(state, *traffic(rng))
        loss = float(loss)
        if loss > 20 * mean:
            state, undone = undo.latest(), undone + 1
        else:
            mean = 0.95 * mean + 0.05 * loss
        step += 1
        if step % 100 == 0:
            print(f"step {step}: loss {mean:.4f}, {undone} times undone", flush=True)
        time.sleep(0.04)


if __name__ == "__main__":
    main()
