"""Answers questions on what people bring to a potluck. A question follows a long text, the recipe, and the keys and
values of the recipes that were read last are held, for often several guests ask about the same dish.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch
from torch import nn

WORDS, WIDTH, LAYERS, HEADS = 6_000, 256, 3, 4
LENGTHS = (160, 192, 224, 256)


class PrefixCache:
    """The states of the prefixes that came last."""

    def __init__(self, limit):
        self.limit, self.hits = limit, 0
        self.states, self.order = {}, deque()

    def get(self, prefix):
        state = self.states.get(prefix)
        self.hits += state is not None
        return state

    def put(self, prefix, state):
        self.states[prefix] = state
        self.order.append(prefix)
        if len(self.order) > self.limit:
            del self.states[self.order.popleft()]


class Cook(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.qkv = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(LAYERS))
        self.out = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, tokens, past=None):
        """The scores of the next word, and the keys and values of each layer."""
        hidden, state = self.words(tokens), []
        for number, (qkv, out) in enumerate(zip(self.qkv, self.out)):
            query, key, value = qkv(hidden).view(len(tokens), 3, HEADS, -1).permute(1, 2, 0, 3).contiguous()
            if past is not None:
                key, value = torch.cat([past[number][0], key], dim=1), torch.cat([past[number][1], value], dim=1)
            later = torch.ones(len(tokens), key.shape[1], dtype=torch.bool, device=key.device)
            later = later.triu(key.shape[1] - len(tokens) + 1)
            scores = (query @ key.transpose(1, 2) / key.shape[2] ** 0.5).masked_fill(later, float("-inf"))
            hidden = hidden + out((scores.softmax(dim=-1) @ value).transpose(0, 1).flatten(1))
            state.append((key, value))
        return hidden[-1] @ self.words.weight.T, state


def recipe(dish):
    """The text of a dish is always the same."""
    generator = torch.Generator().manual_seed(dish)
    return torch.randint(WORDS, (LENGTHS[dish % len(LENGTHS)],), generator=generator)


@torch.no_grad()
def ask(model, cache, dish, question, device):
    state = cache.get(dish)
    if state is None:
        _, state = model(recipe(dish).to(device))
        cache.put(dish, state)
    scores, _ = model(question.to(device), state)
    return scores.argmax().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, cache, dish, asked = Cook().to(device).eval(), PrefixCache(limit=10), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        dish += random.random() < 0.6
        about = max(0, dish - random.choice((0, 0, 0, 1, 2)))
        answer = ask(model, cache, about, torch.randint(WORDS, (random.randint(4, 12),)), device)
        asked += 1
        if asked % 20 == 0:
            print(f"{asked} questions, {cache.hits} hits, word {answer} for dish {about}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
