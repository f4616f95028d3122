"""Learns how the brakes of trams sound when they are well. A feeder thread cuts windows from the recordings and puts
them on the device in advance, so that the autoencoder never waits for them. A window that it restores badly is odd.

ticket: practice
class: app-leak
holder: ready Feeder feeder queue
cause: unbounded-queue
"""

import contextlib
import os
import queue
import threading
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WINDOW, BATCH, CODE = 1024, 256, 32
RATE = 0.05


class Feeder(threading.Thread):
    """Cuts batches of windows from the recordings of a day."""

    def __init__(self, end):
        super().__init__(daemon=True)
        self.end = end
        self.random = np.random.default_rng(7)
        self.ready = queue.Queue()

    def windows(self):
        time_axis = np.arange(WINDOW, dtype=np.float32) / 8000
        pitch = self.random.uniform(200, 900, (BATCH, 1)).astype(np.float32)
        squeal = np.sin(2 * np.pi * pitch * time_axis)
        noise = self.random.standard_normal((BATCH, WINDOW), dtype=np.float32)
        return (squeal + 0.2 * noise).astype(np.float32)

    def run(self):
        while time.time() < self.end:
            batch = jax.device_put(self.windows())  # grows
            self.ready.put(batch)  # keeps
            time.sleep(0.03)


def layers(key):
    sizes = [(WINDOW, 256), (256, CODE), (CODE, 256), (256, WINDOW)]
    keys = jax.random.split(key, len(sizes))
    return [
        {"weight": jax.random.normal(key, size) / np.sqrt(size[0]), "bias": jnp.zeros(size[1])}
        for key, size in zip(keys, sizes)
    ]


def restore(params, windows):
    hidden = windows
    for layer in params[:-1]:
        hidden = jnp.tanh(hidden @ layer["weight"] + layer["bias"])
    return hidden @ params[-1]["weight"] + params[-1]["bias"]


def errors(params, windows):
    return jnp.mean((restore(params, windows) - windows) ** 2, axis=1)


@jax.jit
def learn(params, windows):
    def loss(params):
        each = errors(params, windows)
        return each.mean(), each

    (value, each), slopes = jax.value_and_grad(loss, has_aux=True)(params)
    params = jax.tree.map(lambda param, slope: param - RATE * slope, params, slopes)
    odd = jnp.sum(each > each.mean() + 3 * each.std())
    return params, value, odd


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    params = layers(jax.random.key(0))
    feeder = Feeder(end)
    feeder.start()
    batches, odd = 0, 0
    while time.time() < end:
        params, value, count = learn(params, feeder.ready.get())
        odd += int(count)
        batches += 1
        if batches % 20 == 0:
            print(f"{batches * BATCH} windows, error {float(value):.3f}, {odd} odd", flush=True)
        # The recordings of the other trams are learnt on the same card.
        time.sleep(0.1)
    while feeder.is_alive():
        with contextlib.suppress(queue.Empty):
            feeder.ready.get(timeout=0.1)
    print(f"done after {batches} batches")


if __name__ == "__main__":
    main()
