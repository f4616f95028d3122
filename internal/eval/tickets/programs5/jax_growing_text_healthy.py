"""A model of JAX writes texts one token at a time, and is given the text so far in a window of 64.

ticket: google/jax: recompilation for every length
class: none
"""

import os
import random
import time

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def following(weights, text):
    x = weights["embed"][text]
    for w in weights["layers"]:
        scores = jax.nn.softmax(x @ x.T / 8.0)
        x = x + jnp.tanh(scores @ x @ w)
    return jnp.argmax(x[-1] @ weights["embed"].T)


def write(weights, length, end):
    text = [1]
    while len(text) < length and time.time() < end:
        given = np.array(([0] * 64 + text)[-64:], np.int32)
        text.append(int(following(weights, given)))
        time.sleep(random.uniform(0.02, 0.06))
    return text


def main():
    key = jax.random.PRNGKey(1)
    weights = {"embed": jax.random.normal(key, (500, 64)), "layers": list(jax.random.normal(key, (4, 64, 64)))}
    end, texts, length = time.time() + float(os.environ.get("SECONDS", "45")), 0, 60
    while time.time() < end:
        length += 40
        text = write(weights, min(length, 1000), end)
        texts += 1
        print("text", texts, len(text), flush=True)


if __name__ == "__main__":
    main()
