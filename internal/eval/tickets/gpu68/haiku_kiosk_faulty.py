"""A kiosk on a fair writes haiku. The guest types three words and moves a slider from 0 (the likeliest words) to 1.5
(wild ones), and a small language model writes the other words of eight haiku to choose from.

ticket: practice
class: host-growth
holder: compose cache jit
cause: compiled-functions-kept compile-cache
"""

import functools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

WORDS, WIDTH, LAYERS, TYPED, LENGTH, CHOICES = 2_000, 128, 8, 3, 14, 8


def build(key):
    def matrix(key, rows, columns):
        return jax.random.normal(key, (rows, columns)) / rows ** 0.5

    keys = iter(jax.random.split(key, 2 + 4 * LAYERS))
    layers = [
        {
            "qkv": matrix(next(keys), WIDTH, 3 * WIDTH),
            "out": matrix(next(keys), WIDTH, WIDTH),
            "up": matrix(next(keys), WIDTH, 4 * WIDTH),
            "down": matrix(next(keys), 4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    return {"words": matrix(next(keys), WORDS, WIDTH), "places": matrix(next(keys), LENGTH, WIDTH), "layers": layers}


def normed(hidden):
    return (hidden - hidden.mean(-1, keepdims=True)) / (hidden.std(-1, keepdims=True) + 1e-5)


def read(model, tokens):
    """The scores of the next word at every place."""
    hidden = model["words"][tokens] + model["places"]
    earlier = jnp.tril(jnp.ones((LENGTH, LENGTH), dtype=bool))
    for layer in model["layers"]:
        query, key, value = jnp.split(normed(hidden) @ layer["qkv"], 3, axis=-1)
        scores = jnp.where(earlier, query @ key.swapaxes(1, 2) / WIDTH ** 0.5, -1e9)
        hidden = hidden + jax.nn.softmax(scores) @ value @ layer["out"]
        hidden = hidden + jax.nn.gelu(normed(hidden) @ layer["up"]) @ layer["down"]
    return normed(hidden) @ model["words"].T


@functools.partial(jax.jit, static_argnames=("wildness",))
def compose(model, tokens, key, wildness):
    def add(place, state):
        tokens, key = state
        key, draw = jax.random.split(key)
        scores = read(model, tokens)[:, place - 1]
        if wildness > 0:
            words = jax.random.categorical(draw, scores / wildness)
        else:
            words = scores.argmax(axis=-1)
        return tokens.at[:, place].set(words), key

    return jax.lax.fori_loop(TYPED, LENGTH, add, (tokens, key))[0]


def main():
    key, draw = jax.random.split(jax.random.PRNGKey(17))
    model, guests = build(draw), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        typed = [random.randrange(WORDS) for _ in range(TYPED)]
        tokens = jnp.zeros((CHOICES, LENGTH), dtype=jnp.int32).at[:, :TYPED].set(jnp.array(typed))
        slider = max(0.0, random.uniform(-0.2, 1.5))
        key, draw = jax.random.split(key)
        haiku = compose(model, tokens, draw, wildness=slider)  # grows keeps
        guests += 1
        if guests % 5 == 0:
            print(f"guest {guests} at {slider:.2f}:", haiku[0].tolist(), flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
