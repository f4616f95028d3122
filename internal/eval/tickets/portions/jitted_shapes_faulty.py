"""A model of JAX is jitted anew for each request, as the scale of it is a constant of the function.

ticket: none, a function that is compiled for each request
class: host-growth
cause: compiled-functions-kept per-shape-compile-cache pipeline-cache
"""

import os
import random
import time

import jax
import jax.numpy as jnp

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(4)
models = {}


def model(scale):
    if scale not in models:
        models[scale] = jax.jit(lambda x: jnp.tanh(x @ x.T * scale).sum())  # grows
    return models[scale]


done = 0
while time.time() < END:
    answer = float(model(random.random())(jnp.ones((64, 64))))
    done += 1
    time.sleep(0.04)
print(done, answer)
