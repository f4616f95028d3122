"""Limericks are written by speculative decoding: a small model drafts a few words, and the large one takes as many of
them as it likes. The probabilities of each round go to a log whose last records stay in memory. They are shown only
if a round ends with numbers that are not finite.

ticket: practice
class: none
"""

import logging
import os
import random
import time
from logging.handlers import MemoryHandler

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WORDS, DRAFTED, WINDOW = 16_000, 4, 64
LARGE, SMALL = 384, 64
RECORDS = 16

log = logging.getLogger("limericks")


def init(key, width):
    keys = jax.random.split(key, 3)
    return {
        "words": jax.random.normal(keys[0], (WORDS, width)) / width ** 0.5,
        "mix": jax.random.normal(keys[1], (width, width)) / width ** 0.5,
        "add": jax.random.normal(keys[2], (width, width)) / width ** 0.5,
    }


def run(params, tokens):
    """The probabilities of the next word after each of the tokens."""
    def step(state, x):
        state = jnp.tanh(state @ params["mix"] + x @ params["add"])
        return state, state

    embedded = params["words"][tokens]
    _, states = jax.lax.scan(step, jnp.zeros_like(embedded[0]), embedded)
    return jax.nn.softmax(states @ params["words"].T)


@jax.jit
def draft(params, tokens, length, key):
    """Draws words one after the other behind the first `length` tokens."""
    probs = []
    for place, key in enumerate(jax.random.split(key, DRAFTED)):
        now = run(params, tokens)[length + place - 1]
        tokens = tokens.at[length + place].set(jax.random.categorical(key, jnp.log(now)))
        probs.append(now)
    return tokens, jnp.stack(probs)


@jax.jit
def check(params, tokens, length, drafted, key):
    """How many of the drafted words the large model takes, and what it thinks of them."""
    probs = jax.lax.dynamic_slice_in_dim(run(params, tokens), length - 1, DRAFTED)
    chosen = jax.lax.dynamic_slice_in_dim(tokens, length, DRAFTED)[:, None]
    ratio = jnp.take_along_axis(probs, chosen, 1) / jnp.take_along_axis(drafted, chosen, 1)
    taken = jax.random.uniform(key, (DRAFTED,)) < ratio[:, 0]
    return jnp.cumprod(taken.astype(int)).sum(), probs


def main():
    detail = MemoryHandler(RECORDS, flushLevel=logging.ERROR, target=logging.NullHandler())
    log.addHandler(detail)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    key, first, second = jax.random.split(jax.random.key(3), 3)
    large, small = init(first, LARGE), init(second, SMALL)
    limericks = rounds = accepted = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        tokens, length = jnp.zeros(WINDOW, dtype=int).at[0].set(random.randrange(WORDS)), 1
        goal = random.randint(20, WINDOW - DRAFTED - 1)
        while length < goal and time.time() < end:
            key, one, two = jax.random.split(key, 3)
            tokens, drafted = draft(small, tokens, length, one)
            count, probs = check(large, tokens, length, drafted, two)
            count, drafted, probs = int(count), np.array(drafted), np.array(probs)
            log.debug("round %d: %d words taken, drafted %s, checked %s", rounds, count, drafted, probs)
            if not np.isfinite(probs).all():
                detail.setTarget(logging.StreamHandler())
                log.error("limerick %d is spoilt", limericks)
            length += max(count, 1)
            rounds, accepted = rounds + 1, accepted + count
            time.sleep(random.uniform(0.02, 0.12))
        limericks += 1
        print(f"{limericks} limericks, {accepted / rounds:.2f} of {DRAFTED} words taken in {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
