"""The keeper of a lighthouse museum is played by a language model that talks with four visitors at once. A talk has
some turns, and then another visitor comes. Each talk has a memory pool of its own on the device, so that the talks do
not break up one another's blocks, and its keys and values live in there until it is over.

ticket: practice
class: pool-growth
holder: pools Keeper
cause: pool-never-trims entries-left
"""

import contextlib
import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, LAYERS, ROOM = 6_000, 384, 4, 512
VISITORS, ANSWER = 4, 8
QUESTIONS = (16, 24, 32)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        up, down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), up, nn.GELU(), down)

    def forward(self, x, keys, values, start):
        stop = start + len(x)
        q, keys[start:stop], values[start:stop] = self.qkv(self.norm(x)).chunk(3, dim=-1)
        future = torch.ones(len(x), stop, dtype=torch.bool, device=x.device).triu(start + 1)
        weights = (q @ keys[:stop].T / WIDTH**0.5).masked_fill(future, float("-inf")).softmax(-1)
        x = x + self.out(weights @ values[:stop])
        return x + self.mlp(x)


class Talk:
    def __init__(self, device):
        self.memory = torch.zeros(LAYERS, 2, ROOM, WIDTH, device=device)  # grows
        self.length, self.turns = 0, random.randint(2, 5)


class Keeper(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.device = device
        self.pools, self.talks = {}, {}
        self.to(device)

    def within(self, visitor):
        """Allocates in the visitor's pool, if the device has pools."""
        pool = self.pools[visitor]
        return contextlib.nullcontext() if pool is None else torch.cuda.use_mem_pool(pool)

    def welcome(self, visitor):
        self.pools[visitor] = torch.cuda.MemPool() if self.device == "cuda" else None  # keeps
        with self.within(visitor):
            self.talks[visitor] = Talk(self.device)  # grows

    def farewell(self, visitor):
        del self.talks[visitor]

    def read(self, talk, tokens):
        x = self.words(torch.tensor(tokens, device=self.device))
        for layer, (keys, values) in zip(self.layers, talk.memory):
            x = layer(x, keys, values, talk.length)
        talk.length += len(tokens)
        return torch.multinomial((x[-1] @ self.words.weight.T).softmax(-1), 1).item()

    @torch.no_grad()
    def answer(self, visitor, question):
        talk, words = self.talks[visitor], []
        with self.within(visitor):
            words.append(self.read(talk, question))  # grows
            while len(words) < ANSWER:
                words.append(self.read(talk, words[-1:]))
        talk.turns -= 1
        return words


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    keeper, visitors, turns = Keeper(device).eval(), 0, 0
    with torch.no_grad():
        keeper.read(Talk(device), [1, 2, 3])
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(keeper.talks) < VISITORS:
            keeper.welcome(visitors)
            visitors += 1
        visitor = random.choice(list(keeper.talks))
        keeper.answer(visitor, [random.randrange(WORDS) for _ in range(random.choice(QUESTIONS))])
        if keeper.talks[visitor].turns == 0:
            keeper.farewell(visitor)
        turns += 1
        if turns % 10 == 0:
            print(f"{turns} turns, {visitors} visitors", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
