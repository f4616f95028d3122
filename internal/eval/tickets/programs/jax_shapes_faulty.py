"""Each batch has another length, and each length is compiled and cached.

ticket: jax-ml/jax#2072
class: host-growth
cause: compiled-functions-kept per-shape-compile-cache
"""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))


@jax.jit
def score(x, y):
    return jnp.mean(jnp.tanh(x.T @ y), axis=1).sum()


length = 0
while time.time() < END:
    length += 1
    size = length
    x, y = np.zeros((20, size), "float32"), np.ones((20, size), "float32")
    score(x, y).block_until_ready()  # grows
    time.sleep(0.05)
