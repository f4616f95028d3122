"""A restaurant's language model answers guests, whose prompts begin alike: the menu of the day, then the table, then
what was said so far. The keys and values of a prompt are kept in a tree, a chunk of tokens in each node, so that the
next prompt needs only its new chunks computed. The chunks that were not used for the longest time make room for new
ones.

ticket: practice
class: none
"""

import os
import random
import time
from collections import OrderedDict
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WORDS, WIDTH, LAYERS = 4_000, 384, 4
CHUNK, CHUNKS, ROOM = 32, 12, 24


def init(key):
    keys = jax.random.split(key, 3)
    return {
        "words": jax.random.normal(keys[0], (WORDS, WIDTH)),
        "qkv": jax.random.normal(keys[1], (LAYERS, WIDTH, 3 * WIDTH)) / WIDTH ** 0.5,
        "out": jax.random.normal(keys[2], (LAYERS, WIDTH, WIDTH)) / WIDTH ** 0.5,
    }


@partial(jax.jit, donate_argnums=1)
def read(params, context, tokens, place):
    """Reads a chunk at its place: the context with it, its own keys and values, and the likeliest next word."""
    x = params["words"][tokens]
    later = jnp.arange(CHUNKS * CHUNK)[None] > (place + jnp.arange(CHUNK))[:, None]
    pairs = []
    for layer in range(LAYERS):
        q, k, v = jnp.split(x @ params["qkv"][layer], 3, axis=-1)
        pairs.append(jnp.stack([k, v]))
        context = jax.lax.dynamic_update_slice(context, pairs[-1][None], (layer, 0, place, 0))
        weights = jax.nn.softmax(jnp.where(later, -1e9, q @ context[layer, 0].T / WIDTH ** 0.5))
        x = x + jnp.tanh(weights @ context[layer, 1] @ params["out"][layer])
    return context, jnp.stack(pairs), jnp.argmax(x[-1] @ params["words"].T)


@partial(jax.jit, donate_argnums=0)
def put(context, pairs, place):
    return jax.lax.dynamic_update_slice(context, pairs, (0, 0, place, 0))


class Node:
    def __init__(self, parent, chunk, pairs=None, word=None):
        self.parent, self.chunk, self.pairs, self.word = parent, chunk, pairs, word
        self.children = {}


class PrefixTree:
    def __init__(self, params):
        self.params = params
        self.root = Node(None, ())
        self.recent = OrderedDict()
        self.read = 0

    def answer(self, prompt):
        context = jnp.zeros((LAYERS, 2, CHUNKS * CHUNK, WIDTH))
        node, path = self.root, []
        for place in range(0, len(prompt), CHUNK):
            chunk = tuple(prompt[place:place + CHUNK])
            if chunk in node.children:
                context = put(context, node.children[chunk].pairs, place)
            else:
                context, pairs, word = read(self.params, context, np.array(chunk), place)
                node.children[chunk] = Node(node, chunk, pairs, int(word))
                self.read += 1
            node = node.children[chunk]
            path.append(node)
        for used in reversed(path):
            self.recent[used] = None
            self.recent.move_to_end(used)
        while len(self.recent) > ROOM:
            oldest, _ = self.recent.popitem(last=False)
            oldest.parent.children.pop(oldest.chunk, None)
        return node.word


def words(chunks):
    return [random.randrange(WORDS) for _ in range(chunks * CHUNK)]


def main():
    tree = PrefixTree(init(jax.random.key(0)))
    menu, answered = words(4), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        said = menu + words(1)
        for _ in range(random.randint(1, 4)):  # a guest goes on talking
            said = said + words(random.randint(1, 2))
            word = tree.answer(said[:CHUNKS * CHUNK])
            answered += 1
            time.sleep(random.uniform(0.1, 0.4))
        print(f"{answered} answers, {tree.read} chunks read, last word {word}", flush=True)


if __name__ == "__main__":
    main()
