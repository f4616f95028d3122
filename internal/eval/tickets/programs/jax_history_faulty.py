"""The predictions of each step are kept as arrays for a plot at the end.

ticket: jax-ml/jax#5605
class: host-growth
holder: history
cause: results-kept
"""

import os
import time

import jax
import jax.numpy as jnp

END = time.time() + float(os.environ.get("SECONDS", "40"))


@jax.jit
def forward(weights, x):
    return jnp.tanh(x @ weights)


def train():
    history = {"prediction": [], "step": []}
    weights = jnp.ones((64, 400))
    step = 0
    while time.time() < END:
        step += 1
        prediction = forward(weights, jnp.full((32, 64), step / 1000))
        history["prediction"].append(prediction)  # grows
        history["step"].append(step)
        time.sleep(0.02)
    return history


print(len(train()["step"]))
