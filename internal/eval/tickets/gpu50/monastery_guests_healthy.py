"""Guests of a monastery talk with its library; some stay for two questions, some for nine. The cache of keys and values
of each conversation comes from a memory pool of its own, so that one can tell how much a guest uses, and that the
caches do not break up the blocks of the common pool. The usage is printed now and then.

ticket: practice
class: none
"""

import contextlib
import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, HEADS, LAYERS, PLACES = 6_000, 512, 8, 4, 768
TABLES = 3  # conversations at the same time


class Librarian(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.projections = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(LAYERS))
        self.outputs = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, tokens, cache, used):
        hidden, last = self.words(tokens), used + tokens.shape[0]
        for layer, (project, output) in enumerate(zip(self.projections, self.outputs)):
            query, key, value = project(hidden).view(-1, 3, HEADS, WIDTH // HEADS).unbind(dim=1)
            cache[layer, 0, used:last], cache[layer, 1, used:last] = key, value
            scores = torch.einsum("qhd,khd->hqk", query, cache[layer, 0, :last])
            weights = F.softmax(scores / (WIDTH // HEADS) ** 0.5, dim=-1)
            mixed = torch.einsum("hqk,khd->qhd", weights, cache[layer, 1, :last])
            hidden = hidden + output(mixed.reshape(-1, WIDTH))
        return (hidden[-1] @ self.words.weight.T).argmax()


class Library:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.pools, self.caches, self.used = {}, {}, {}

    def pool(self, guest):
        """Puts allocations into the pool of this guest, where the device has such pools."""
        if self.device != "cuda":
            return contextlib.nullcontext()
        if guest not in self.pools:
            self.pools[guest] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[guest])

    def welcome(self, guest):
        with self.pool(guest):
            self.caches[guest] = torch.zeros(LAYERS, 2, PLACES, HEADS, WIDTH // HEADS, device=self.device)
        self.used[guest] = 0

    @torch.inference_mode()
    def ask(self, guest, tokens):
        answer = self.model(tokens.to(self.device), self.caches[guest], self.used[guest])
        self.used[guest] += len(tokens)
        return answer.item()

    def farewell(self, guest):
        del self.caches[guest], self.used[guest]
        self.pools.pop(guest, None)

    def usage(self):
        megabytes = sum(cache.nelement() * cache.element_size() for cache in self.caches.values()) / 2**20
        return f"{len(self.caches)} guests, {sum(self.used.values())} places used, {megabytes:.0f} MiB of caches"


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    library, names, stays, asked = Library(Librarian().to(device).eval(), device), itertools.count(1), {}, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(stays) < TABLES:
            guest = next(names)
            library.welcome(guest)
            stays[guest] = random.randrange(2, 10)
        guest = random.choice(list(stays))
        library.ask(guest, torch.randint(WORDS, (random.randrange(12, 80),)))
        asked += 1
        stays[guest] -= 1
        if stays[guest] == 0:
            library.farewell(guest)
            del stays[guest]
        if asked % 25 == 0:
            print(f"{asked} questions: {library.usage()}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
