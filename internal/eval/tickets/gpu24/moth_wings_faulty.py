"""Cleans pictures of moth wings: a JAX autoencoder is given wings with dust on them, a bit more dust the longer it
learns. After every few steps the same drawer of wings is cleaned and becomes a contact sheet. Writing to the share is
slow, so what there is to write is lined up and done when the run is over.

ticket: practice
class: host-growth
holder: at_end ExitStack
cause: registered-for-the-end callbacks-left closure-kept
"""

import os
import pathlib
import tempfile
import time
from contextlib import ExitStack

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, CODE, BATCH, DRAWER, COLUMNS = 64, 96, 32, 96, 12


def wings(rng, count):
    """Wings with bands and an eye spot, as rows of pixels."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    bands = rng.uniform(6, 20, (count, 1, 1))
    spot = rng.uniform(0.3, 0.7, (2, count, 1, 1))
    picture = 0.5 + 0.3 * np.sin(bands * (x + y)) - 0.4 * (np.hypot(x - spot[0], y - spot[1]) < 0.12)
    return picture.reshape(count, SIDE * SIDE).astype(np.float32)


def fresh_weights(key):
    into, back = jax.random.split(key)
    return {
        "into": jax.random.normal(into, (SIDE * SIDE, CODE)) / SIDE,
        "bend": jnp.zeros(CODE),
        "back": jax.random.normal(back, (CODE, SIDE * SIDE)) / CODE ** 0.5,
        "mean": jnp.full(SIDE * SIDE, 0.5),
    }


@jax.jit
def clean(weights, pictures):
    code = jnp.tanh((pictures - 0.5) @ weights["into"] + weights["bend"])
    return code @ weights["back"] + weights["mean"]


@jax.jit
def learn(weights, key, pictures, dust):
    """One step of gradient descent on pictures with so much dust."""
    dusty = pictures + dust * jax.random.normal(key, pictures.shape)

    def loss_of(weights):
        return jnp.mean((clean(weights, dusty) - pictures) ** 2)

    loss, slopes = jax.value_and_grad(loss_of)(weights)
    return jax.tree_util.tree_map(lambda weight, slope: weight - 0.5 * slope, weights, slopes), loss


def write_sheet(path, pictures):
    """Puts the pictures side by side, at a quarter of their size, in one file."""
    small = pictures.reshape(-1, COLUMNS, SIDE, SIDE)[:, :, ::4, ::4]
    rows, _, height, width = small.shape
    sheet = small.transpose(0, 2, 1, 3).reshape(rows * height, COLUMNS * width)
    pixels = (255 * np.clip(sheet, 0, 1)).astype(np.uint8)
    path.write_bytes(f"P5 {pixels.shape[1]} {pixels.shape[0]} 255\n".encode() + pixels.tobytes())


def main():
    rng, key = np.random.default_rng(3), jax.random.PRNGKey(3)
    drawer = wings(rng, DRAWER)
    drawer += 0.2 * rng.normal(size=drawer.shape).astype(np.float32)
    weights, step = fresh_weights(key), 0
    with ExitStack() as at_end:
        share = pathlib.Path(at_end.enter_context(tempfile.TemporaryDirectory()))
        end = time.time() + float(os.environ.get("SECONDS", "45"))
        while time.time() < end:
            key, now = jax.random.split(key)
            weights, loss = learn(weights, now, wings(rng, BATCH), min(0.05 + step / 2000, 0.4))
            if step % 3 == 0:
                cleaned = jax.device_get(clean(weights, drawer))  # grows
                at_end.callback(write_sheet, share / f"sheet-{step % 300:03d}.pgm", cleaned)  # keeps
            if step % 30 == 0:
                print(f"step {step}: loss {float(loss):.4f}", flush=True)
            step += 1
            time.sleep(0.05)


if __name__ == "__main__":
    main()
