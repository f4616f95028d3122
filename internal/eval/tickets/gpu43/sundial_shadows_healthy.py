"""The hour is read from the shadow on a sundial by a small network in JAX. A callback in the compiled step sends the
gradient of the middle layer to a monitor on the host. Every few steps the monitor takes the newest of them and prints
how large it is and how many of its rows are dead.

ticket: practice
class: none
"""

import os
import time
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

PIXELS, WIDTH, HOURS, BATCH = 256, 448, 12, 64
LOOK_EVERY = 8


class Monitor:
    def __init__(self):
        self.waiting = deque(maxlen=LOOK_EVERY)

    def note(self, step, gradient):
        self.waiting.append((int(step), np.array(gradient)))

    def look(self):
        step, gradient = self.waiting.pop()
        sizes = np.linalg.norm(gradient, axis=1)
        return f"step {step}: gradient {np.linalg.norm(gradient):.4f}, {int((sizes < 1e-7).sum())} dead rows"


monitor = Monitor()


def init(key):
    first, middle, last = jax.random.split(key, 3)
    return {
        "first": jax.random.normal(first, (PIXELS, WIDTH)) / PIXELS**0.5,
        "middle": jax.random.normal(middle, (WIDTH, WIDTH)) / WIDTH**0.5,
        "last": jax.random.normal(last, (WIDTH, HOURS)) / WIDTH**0.5,
    }


def loss_of(params, shadows, hours):
    hidden = jax.nn.relu(shadows @ params["first"])
    hidden = jax.nn.relu(hidden @ params["middle"])
    log_probs = jax.nn.log_softmax(hidden @ params["last"])
    return -jnp.take_along_axis(log_probs, hours[:, None], axis=1).mean()


@jax.jit
def train(params, step, shadows, hours):
    loss, grads = jax.value_and_grad(loss_of)(params, shadows, hours)
    jax.debug.callback(monitor.note, step, grads["middle"])
    params = jax.tree_util.tree_map(lambda param, grad: param - 0.05 * grad, params, grads)
    return params, loss


def dials(rng):
    """Shadows on sundials, seen as a ring of pixels, and their hours."""
    hours = rng.integers(HOURS, size=BATCH)
    ring = np.linspace(0, HOURS, PIXELS, endpoint=False)
    shadows = np.exp(-8 * (ring - hours[:, None] - rng.uniform(0, 0.9, (BATCH, 1))) ** 2)
    return (shadows + 0.1 * rng.standard_normal((BATCH, PIXELS))).astype(np.float32), hours.astype(np.int32)


def main():
    rng = np.random.default_rng(12)
    params, step = init(jax.random.PRNGKey(12)), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        shadows, hours = dials(rng)
        params, loss = train(params, step, shadows, hours)
        step += 1
        if step % LOOK_EVERY == 0:
            jax.effects_barrier()
            print(f"loss {float(loss):.3f}, {monitor.look()}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
