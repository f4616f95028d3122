"""The labels of a herbarium are read in batches, and the same label may have been read twice. An encoder on the
accelerator turns each label into a vector. Two threads compare the vectors of a batch with each other, and the labels
that are alike are counted as soon as a comparison is done, in the order of the batches.

ticket: practice
class: host-growth
holder: jobs Counter
cause: futures-kept results-kept
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

LETTERS, WIDTH, LENGTH, BATCH = 64, 256, 40, 512
ALIKE = 0.9


def make_params(key):
    keys = jax.random.split(key, 3)
    return {
        "letters": jax.random.normal(keys[0], (LETTERS, WIDTH)),
        "places": jax.random.normal(keys[1], (LENGTH, WIDTH)),
        "out": jax.random.normal(keys[2], (WIDTH, WIDTH)) / WIDTH**0.5,
    }


@jax.jit
def encode(params, labels):
    """A vector of length one for each label."""
    hidden = jnp.tanh(params["letters"][labels] * params["places"])
    vectors = hidden.mean(1) @ params["out"]
    return vectors / jnp.linalg.norm(vectors, axis=-1, keepdims=True)


def compare(vectors):
    """How much each label of a batch is like each other one."""
    return vectors @ vectors.T  # grows


class Counter:
    def __init__(self):
        self.pool = ThreadPoolExecutor(2)
        self.jobs = []
        self.counted = self.twice = 0

    def add(self, vectors):
        self.jobs.append(self.pool.submit(compare, vectors))  # keeps

    def collect(self):
        """Counts what is done."""
        while self.counted < len(self.jobs) and self.jobs[self.counted].done():
            alike = np.triu(self.jobs[self.counted].result(), 1) > ALIKE
            self.twice += int(alike.sum())
            self.counted += 1


def read_labels(draw):
    """A batch of labels, some of them twice, with a letter misread."""
    labels = draw.integers(LETTERS, size=(BATCH, LENGTH), dtype=np.int32)
    again = int(draw.integers(0, 12))
    labels[BATCH - again :] = labels[:again]
    labels[BATCH - again :, int(draw.integers(LENGTH))] = int(draw.integers(LETTERS))
    return labels


def main():
    params, draw = make_params(jax.random.PRNGKey(0)), np.random.default_rng()
    counter, batches = Counter(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        counter.add(np.asarray(encode(params, jnp.asarray(read_labels(draw)))))
        counter.collect()
        batches += 1
        if batches % 10 == 0:
            print(f"{batches} batches, {counter.counted} compared, {counter.twice} labels twice", flush=True)
        time.sleep(random.uniform(0.08, 0.28))
    counter.pool.shutdown()


if __name__ == "__main__":
    main()
