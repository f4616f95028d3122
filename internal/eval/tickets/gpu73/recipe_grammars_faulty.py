"""A kitchen's language model writes recipes that keep to a grammar. The grammar of a menu is a table that says for each
state which words may come next. For each order a sampler is made, which has the table of the order's menu bound to
it. Samplers are kept and used again, as a table is slow to make.

ticket: practice
class: app-leak
holder: samplers Kitchen table
cause: cache-without-bound closure-kept
"""

import os
import random
import time
from functools import partial
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WORDS, WIDTH, STATES, LENGTH = 8_000, 192, 48, 14
MENUS = "vegan", "fish", "desserts", "soups"


class Order(NamedTuple):
    number: int
    menu: str


def make_params(key):
    keys = jax.random.split(key, 4)
    return {
        "words": jax.random.normal(keys[0], (WORDS, WIDTH)) * 0.1,
        "mix": jax.random.normal(keys[1], (WIDTH, WIDTH)) / WIDTH**0.5,
        "keep": jax.random.normal(keys[2], (WIDTH, WIDTH)) / WIDTH**0.5,
        "out": jax.random.normal(keys[3], (WIDTH, WORDS)) / WIDTH**0.5,
    }


@jax.jit
def step(params, hidden, word, state, key, table):
    """The next word by the model, among those that the grammar allows, and the grammar's next state."""
    hidden = jnp.tanh(params["words"][word] @ params["mix"] + hidden @ params["keep"])
    logits = hidden @ params["out"] + table[state]
    word = jax.random.categorical(key, logits)
    return hidden, word, (state * 7 + word) % STATES


def allowed(menu):
    """The grammar of a menu: nought where a word may come, and a large negative number where it may not."""
    draw = np.random.default_rng(MENUS.index(menu))
    return np.where(draw.random((STATES, WORDS)) < 0.2, 0.0, -1e9).astype(np.float32)


class Kitchen:
    def __init__(self):
        self.params = make_params(jax.random.PRNGKey(0))
        self.key = jax.random.PRNGKey(1)
        self.samplers = {}

    def sampler(self, order):
        if order not in self.samplers:
            table = jnp.array(allowed(order.menu))  # grows
            self.samplers[order] = partial(step, self.params, table=table)  # keeps
        return self.samplers[order]

    def write(self, order):
        """The words of a recipe."""
        sampler = self.sampler(order)
        hidden, word, state = jnp.zeros(WIDTH), jnp.int32(0), jnp.int32(0)
        recipe = []
        for _ in range(LENGTH):
            self.key, key = jax.random.split(self.key)
            hidden, word, state = sampler(hidden, word, state, key)
            recipe.append(int(word))
        return recipe


def main():
    kitchen, seen, number = Kitchen(), set(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        order = Order(number, random.choice(MENUS))
        for _ in range(random.choice((1, 1, 2))):
            seen.update(kitchen.write(order))
        number += 1
        if number % 10 == 0:
            print(f"{number} orders, {len(seen)} of {WORDS} words were used", flush=True)
        time.sleep(random.uniform(0.08, 0.3))


if __name__ == "__main__":
    main()
