"""Maps the saffron fields in satellite images, pixel by pixel. A thread cuts and normalises the tiles and puts them on
the device, so that the training never waits for its next batch.

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

BANDS, SIDE, BATCH, HIDDEN, KINDS = 6, 72, 8, 48, 3


class Feed(threading.Thread):
    """Batches of tiles and of what grows on each of their pixels."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ready = queue.Queue(maxsize=4)
        self.stopped = threading.Event()
        self.rng = np.random.default_rng(3)
        self.spectra = self.rng.uniform(0.1, 0.9, (KINDS, BANDS)).astype(np.float32)

    def cut(self):
        fields = self.rng.integers(KINDS, size=(BATCH, SIDE // 12, SIDE // 12))
        kinds = fields.repeat(12, axis=1).repeat(12, axis=2).astype(np.int32)
        tiles = self.spectra[kinds]
        tiles += 0.15 * self.rng.standard_normal(tiles.shape, dtype=np.float32)
        return (tiles - tiles.mean((0, 1, 2))) / tiles.std((0, 1, 2)), kinds

    def run(self):
        while not self.stopped.is_set():
            batch = jax.device_put(self.cut())
            try:
                self.ready.put(batch, timeout=1)
            except queue.Full:
                continue
            time.sleep(0.03)

    def close(self):
        self.stopped.set()
        self.join()


def start(key):
    first, second = jax.random.split(key)
    return {
        "inner": 0.3 * jax.random.normal(first, (BANDS, HIDDEN)),
        "bias": jnp.zeros(HIDDEN),
        "outer": 0.2 * jax.random.normal(second, (HIDDEN, KINDS)),
    }


def cost(params, tiles, kinds):
    hidden = jax.nn.relu(tiles @ params["inner"] + params["bias"])
    log_probs = jax.nn.log_softmax(hidden @ params["outer"])
    return -jnp.take_along_axis(log_probs, kinds[..., None], axis=-1).mean()


@jax.jit
def train_step(params, tiles, kinds):
    value, gradients = jax.value_and_grad(cost)(params, tiles, kinds)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradients), value


def main():
    params, feed, step = start(jax.random.PRNGKey(0)), Feed(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    feed.start()
    while time.time() < end:
        tiles, kinds = feed.ready.get()
        params, value = train_step(params, tiles, kinds)
        step += 1
        if step % 20 == 0:
            print(f"step {step}: cost {float(value):.4f}", flush=True)
        else:
            value.block_until_ready()
        time.sleep(0.14)
    feed.close()


if __name__ == "__main__":
    main()
