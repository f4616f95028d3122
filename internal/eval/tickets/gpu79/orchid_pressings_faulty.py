"""Sorts the sheets of a herbarium: photographs of pressed orchids are put on the device by a thread that reads ahead,
and each is assigned to the group whose centre is nearest. The centres follow their sheets. The groups of a batch are
then entered in the catalogue, which takes its time.

ticket: practice
class: app-leak
holder: ahead queue Queue
cause: unbounded-queue buffer-without-bound
"""

import os
import threading
import time
from queue import Queue

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SHEETS, SIDE, GROUPS, WIDTH = 24, 128, 16, 64


def read_sheets(random):
    """A batch of photographs as the archive's reader yields them."""
    tints = random.integers(60, 160, (SHEETS, 1, 1, 3))
    grain = random.integers(0, 90, (SHEETS, SIDE, SIDE, 3))
    return (tints + grain).astype(np.uint8)


def read_ahead(ahead, end):
    random = np.random.default_rng(11)
    while time.time() < end:
        sheets = jax.device_put(read_sheets(random))  # grows
        ahead.put(sheets)  # keeps
        time.sleep(0.025)


@jax.jit
def embed(projection, sheets):
    """Cells of the photograph, seen through a fixed random projection."""
    pixels = sheets.astype(jnp.float32) / 255
    cells = pixels.reshape(SHEETS, 16, SIDE // 16, 16, SIDE // 16, 3).mean(axis=(2, 4))
    vectors = cells.reshape(SHEETS, -1) @ projection
    return vectors / jnp.linalg.norm(vectors, axis=1, keepdims=True)


@jax.jit
def assign(centres, vectors):
    groups = (vectors @ centres.T).argmax(axis=1)
    chosen = jax.nn.one_hot(groups, GROUPS)
    sums, counts = chosen.T @ vectors, chosen.sum(axis=0)[:, None]
    means = jnp.where(counts > 0, sums / jnp.maximum(counts, 1), centres)
    return 0.95 * centres + 0.05 * means, groups


def enter(catalogue, groups):
    """One line for each sheet; the catalogue answers when it has them all."""
    np.add.at(catalogue, np.asarray(groups), 1)
    time.sleep(0.1)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    keys = jax.random.split(jax.random.key(5))
    projection = jax.random.normal(keys[0], (16 * 16 * 3, WIDTH))
    centres = jax.random.normal(keys[1], (GROUPS, WIDTH)) / WIDTH**0.5
    catalogue = np.zeros(GROUPS, dtype=np.int64)
    ahead = Queue()
    reader = threading.Thread(target=read_ahead, args=(ahead, end), daemon=True)
    reader.start()
    batches = 0
    while time.time() < end:
        sheets = ahead.get()
        centres, groups = assign(centres, embed(projection, sheets))
        enter(catalogue, groups)
        batches += 1
        if batches % 25 == 0:
            print(f"{catalogue.sum()} sheets in {np.count_nonzero(catalogue)} groups", flush=True)
    reader.join(timeout=1)


if __name__ == "__main__":
    main()
