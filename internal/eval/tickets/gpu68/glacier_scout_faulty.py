"""An agent looks for a way over a glacier. At each turn a language model reads the whole record of the trip, the orders
and what was seen since, and picks the next tool by its last word. What the tool reports is added to the record.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks pool-never-trims
"""

import os
import random
import time
from collections import Counter

import torch
from torch import nn

WORDS, WIDTH, HEADS, LAYERS, ORDERS = 5_000, 128, 4, 2, 800
TOOLS = {"look": (4, 6), "probe": (5, 8), "walk": (3, 5), "radio": (8, 12), "wait": (4, 5)}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden, later):
        length = len(hidden)
        query, key, value = self.qkv(hidden).view(length, 3, HEADS, -1).permute(1, 2, 0, 3)
        scores = (query / query.shape[-1] ** 0.5) @ key.transpose(1, 2)  # grows keeps
        scores.masked_fill_(later, float("-inf"))
        shares = scores.softmax(dim=-1)  # grows keeps
        return self.out((shares @ value).transpose(0, 1).reshape(length, WIDTH))


class Planner(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.attentions = nn.ModuleList(Attention() for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.tool = nn.Linear(WIDTH, len(TOOLS))

    def forward(self, tokens):
        hidden = self.words(tokens)
        later = torch.ones(len(tokens), len(tokens), dtype=torch.bool, device=tokens.device).triu(1)
        for attention, norm in zip(self.attentions, self.norms):
            hidden = hidden + attention(norm(hidden), later)
        return self.tool(hidden[-1])


class Scout:
    def __init__(self, planner, device):
        self.planner, self.device = planner, device
        self.record = torch.randint(WORDS, (ORDERS,)).tolist()
        self.used = Counter()

    @torch.no_grad()
    def choose(self):
        scores = self.planner(torch.tensor(self.record, device=self.device))
        return list(TOOLS)[torch.multinomial(scores.softmax(dim=-1), 1).item()]

    def turn(self):
        tool = self.choose()
        self.used[tool] += 1
        shortest, longest = TOOLS[tool]
        self.record.extend(random.randrange(WORDS) for _ in range(random.randint(shortest, longest)))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scout = Scout(Planner().to(device).eval(), device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        scout.turn()
        turns = sum(scout.used.values())
        if turns % 10 == 0:
            print(f"turn {turns}:", ", ".join(f"{tool} {times}" for tool, times in scout.used.items()), flush=True)
        time.sleep(random.uniform(0.15, 0.35))


if __name__ == "__main__":
    main()
