"""A network learns to grade oysters from their pictures. A thread draws the pictures and turns them, so that the next
batch always lies ready when the step is done; a held-out batch is graded from time to time.

ticket: practice
class: none
"""

import os
import queue
import threading
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

BATCH, SIDE, GRADES = 128, 64, 5

end = time.time() + float(os.environ.get("SECONDS", "45"))

rng = np.random.default_rng(1)
ready = queue.Queue(maxsize=8)

rows, columns = np.mgrid[-1:1:SIDE * 1j, -1:1:SIDE * 1j].astype(np.float32)


def draw(rng):
    """A batch of oysters: the grade is in the width of the shell."""
    grades = rng.integers(GRADES, size=BATCH)
    width = (0.3 + 0.1 * grades + 0.03 * rng.standard_normal(BATCH)).astype(np.float32)[:, None, None]
    shells = np.exp(-(rows ** 2 + (columns / width) ** 2) * 3)
    noise = rng.standard_normal((BATCH, SIDE, SIDE), dtype=np.float32)
    pictures = np.rot90(shells + 0.2 * noise, rng.integers(2) * 2, axes=(1, 2)).copy()
    return pictures, grades.astype(np.int32)


def feed():
    rng = np.random.default_rng(2)
    while True:
        ready.put(draw(rng))
        time.sleep(0.03)


# %% the network

sizes = [SIDE * SIDE, 128, 64, GRADES]
params = [(jnp.asarray(rng.normal(0, (2 / a) ** 0.5, (a, b)), dtype=jnp.float32), jnp.zeros(b))
          for a, b in zip(sizes[:-1], sizes[1:])]


def logits(params, pictures):
    x = pictures.reshape(pictures.shape[0], -1)
    for weight, bias in params[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = params[-1]
    return x @ weight + bias


def loss(params, pictures, grades):
    log_probs = jax.nn.log_softmax(logits(params, pictures))
    return -jnp.take_along_axis(log_probs, grades[:, None], axis=1).mean()


@jax.jit
def train(params, pictures, grades):
    value, grads = jax.value_and_grad(loss)(params, pictures, grades)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), value


@jax.jit
def share_right(params, pictures, grades):
    return (logits(params, pictures).argmax(axis=1) == grades).mean()


# %% learn

held_out = draw(rng)
threading.Thread(target=feed, daemon=True).start()
steps = 0

while time.time() < end:
    pictures, grades = ready.get()
    params, value = train(params, pictures, grades)
    steps += 1
    if steps % 20 == 0:
        right = float(share_right(params, *held_out))
        print(f"step {steps}: loss {float(value):.3f}, graded right {right:.2f}", flush=True)
    time.sleep(0.1)  # the card is shared with the sorting line
