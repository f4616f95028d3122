"""A prefix cache of keys and values evicts what no request uses when it is over its budget. A request that
a stop word ends early never lets go of its prefix, which then counts as in use for ever.

ticket: sgl-project/sglang#5958
class: app-leak
holder: children
cause: cache-without-bound
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))


class Node:
    def __init__(self, tokens):
        self.kv = torch.randn(2, 4, tokens, 512, device=device)  # grows
        self.tokens, self.locks, self.used = tokens, 0, time.time()


class PrefixCache:
    def __init__(self):
        self.budget, self.children = 1500, {}

    def match(self, key, tokens):
        if key not in self.children:
            self.children[key] = Node(tokens)  # grows
        self.children[key].used = time.time()
        self.children[key].locks += 1
        return self.children[key]

    def evict(self):
        over = sum(node.tokens for node in self.children.values()) - self.budget
        for key, node in sorted(self.children.items(), key=lambda item: item[1].used):
            if over > 0 and node.locks == 0:
                over -= node.tokens
                del self.children[key]


def answer(cache, key):
    node = cache.match(key, random.randint(20, 90))
    for position in range(random.randint(2, 8)):
        if node.kv[:, :, position].sum().item() % 1 < 0.15:
            return "stopped"
    node.locks -= 1
    return "finished"


cache = PrefixCache()
while time.time() < END:
    for _ in range(random.choice([1, 2, 3, 8])):
        answer(cache, (random.randrange(4), random.randrange(100000) if random.random() < 0.9 else 0))
    cache.evict()
    time.sleep(random.uniform(0.2, 0.9))
