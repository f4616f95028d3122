"""A network learns to date layers of ice from what is dissolved in them. A thread reads cores ahead and puts the
batches onto the device, so that training never waits for the copy; the trainer takes them from a queue.

ticket: practice
class: app-leak
holder: queue batches Feeder feeder
cause: unbounded-queue buffer-without-bound
"""

import os
import queue
import threading
import time
from contextlib import suppress

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

LAYERS, SUBSTANCES, WIDTH, RATE = 2048, 128, 256, 1e-3


class Feeder:
    """Reads cores in a thread and holds them ready on the device."""

    def __init__(self, end):
        self.end = end
        self.batches = queue.Queue()
        self.random = np.random.default_rng(46)
        self.ages = self.random.standard_normal(SUBSTANCES).astype(np.float32) / SUBSTANCES**0.5
        self.thread = threading.Thread(target=self.feed, daemon=True)
        self.thread.start()

    def read(self):
        layers = self.random.standard_normal((LAYERS, SUBSTANCES), dtype=np.float32)
        return layers, np.tanh(layers @ self.ages)

    def feed(self):
        while time.time() < self.end:
            batch = jax.device_put(self.read())  # grows
            self.batches.put(batch)  # keeps
            time.sleep(0.03)

    def take(self):
        return self.batches.get(timeout=60)

    def close(self):
        while self.thread.is_alive():
            with suppress(queue.Empty):
                self.batches.get(timeout=0.1)


def start(key):
    first, second, third = jax.random.split(key, 3)
    return {
        "first": jax.random.normal(first, (SUBSTANCES, WIDTH)) / SUBSTANCES**0.5,
        "second": jax.random.normal(second, (WIDTH, WIDTH)) / WIDTH**0.5,
        "third": jax.random.normal(third, (WIDTH,)) / WIDTH**0.5,
    }


def error(weights, layers, ages):
    hidden = jax.nn.relu(layers @ weights["first"])
    hidden = jax.nn.relu(hidden @ weights["second"])
    return jnp.mean((hidden @ weights["third"] - ages) ** 2)


@jax.jit
def train(weights, speed, layers, ages):
    loss, slope = jax.value_and_grad(error)(weights, layers, ages)
    speed = jax.tree_util.tree_map(lambda old, new: 0.9 * old + new, speed, slope)
    weights = jax.tree_util.tree_map(lambda weight, step: weight - RATE * step, weights, speed)
    return weights, speed, loss


def main():
    weights = start(jax.random.key(46))
    speed = jax.tree_util.tree_map(jnp.zeros_like, weights)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    feeder, step = Feeder(end), 0
    while time.time() < end:
        layers, ages = feeder.take()
        weights, speed, loss = train(weights, speed, layers, ages)
        step += 1
        if step % 25 == 0:
            print("step", step, "error", round(float(loss), 4), flush=True)
        time.sleep(0.09)  # the layers are drawn on the screen meanwhile
    feeder.close()


if __name__ == "__main__":
    main()
