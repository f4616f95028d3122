"""A function is compiled anew for each value of a static argument, with a table of its own.

ticket: jax-ml/jax#10878
class: host-growth
cause: compiled-functions-kept per-shape-compile-cache
"""

import functools
import os
import time

import jax
import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))


@functools.partial(jax.jit, static_argnums=(1,))
def draw(key, n):
    table = jax.numpy.asarray(np.random.rand(100_000).astype("float32")) * 2
    noise = jax.random.normal(key, (3,))
    return table[:3] + noise.sum() * n


key = jax.random.PRNGKey(233)
fixed = np.random.rand(100_000).astype("float32")
n = 0
while time.time() < END:
    n += 1
    draw(key, n).block_until_ready()  # grows
    time.sleep(0.05)
