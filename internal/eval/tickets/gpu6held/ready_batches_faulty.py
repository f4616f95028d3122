"""A thread of a loader draws batches and puts them on the device ahead of the training, into a queue. The queue has
no bound, and the loader is faster than the training.

ticket: practice
class: app-leak
holder: ready queue
cause: unbounded-queue queue-without-bound
"""

import functools
import os
import queue
import random
import threading
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, CLASSES = 512, 10


class AheadLoader(threading.Thread):
    """Gathers samples of a table of the host and puts them on the device."""

    def __init__(self, features, labels, batch):
        super().__init__(daemon=True)
        self.features, self.labels, self.batch = features, labels, batch
        self.ready, self.stop = queue.Queue(), threading.Event()
        self.device = jax.devices()[0]

    def run(self):
        rng = np.random.default_rng(11)
        while not self.stop.is_set():
            chosen = rng.integers(0, len(self.features), self.batch)
            x = jax.device_put(self.features[chosen], self.device)  # grows
            y = jax.device_put(self.labels[chosen], self.device)
            try:
                self.ready.put((x, y), timeout=1)  # keeps
            except queue.Full:
                continue
            time.sleep(random.uniform(0.02, 0.08))

    def __iter__(self):
        while True:
            yield self.ready.get()


def loss_of(params, x, y):
    hidden = jax.nn.gelu(x @ params["first"])
    scores = jax.nn.log_softmax(hidden @ params["second"])
    return -jnp.take_along_axis(scores, y[:, None], 1).mean()


@functools.partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, momentum, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, gradient)
    params = jax.tree_util.tree_map(lambda p, m: p - 0.01 * m, params, momentum)
    return params, momentum, loss


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng = np.random.default_rng(1)
    features = rng.normal(size=(6000, WIDTH)).astype(np.float32)
    labels = features[:, :CLASSES].argmax(1).astype(np.int32)
    first, second = jax.random.split(jax.random.PRNGKey(0))
    params = {"first": jax.random.normal(first, (WIDTH, 256)) * 0.05,
              "second": jax.random.normal(second, (256, CLASSES)) * 0.05}
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    loader, step = AheadLoader(features, labels, 160), 0
    loader.start()
    for x, y in loader:
        params, momentum, loss = train_step(params, momentum, x, y)
        step += 1
        if step % 50 == 0:
            print("step", step, "loss", round(float(loss), 4), "ready", loader.ready.qsize(), flush=True)
        if time.time() > end:
            break
        time.sleep(random.uniform(0.06, 0.16))
    loader.stop.set()
    loader.join(timeout=5)


if __name__ == "__main__":
    main()
