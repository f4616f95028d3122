"""A model of JAX serves nine shapes; the rare ones come late.

ticket: none, shapes that are compiled late
class: none
"""

import os
import random
import time

import jax
import jax.numpy as jnp

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(4)


@jax.jit
def model(x):
    return jnp.tanh(x @ x.T).sum()


done = 0
while time.time() < END:
    size = 32 * (1 + min(8, int(random.expovariate(0.55))))
    answer = float(model(jnp.ones((size, 64)) * done))
    done += 1
    time.sleep(0.04)
print(done, answer)
