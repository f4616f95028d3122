"""A player of a card game plans each move with a tree search over a learned model: the model imagines the state after
each card, and the visits flow back from the leaf to the root. The collector of Python is off during the game, for the
moves have to come at an even pace.

ticket: practice
class: none
"""

import gc
import math
import os
import random
import time
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Optional

import torch
from torch import nn

PLANES, SIDE, CARDS = 32, 6, 6
VISITS, EXPLORATION, DISCOUNT = 20, 1.4, 0.97


@dataclass(eq=False)
class Node:
    state: torch.Tensor
    prior: float = 1.0
    parent: Optional[weakref.ref] = None
    children: list = field(default_factory=list)
    visits: int = 0
    total: float = 0.0

    def add(self, state, prior):
        self.children.append(Node(state, prior, parent=weakref.ref(self)))

    def favourite(self):
        reach = EXPLORATION * math.sqrt(self.visits + 1)
        return max(self.children, key=lambda child: (child.total + reach * child.prior) / (1 + child.visits))

    def credit(self, worth):
        node = self
        while node is not None:
            node.visits += 1
            node.total += worth
            worth *= DISCOUNT
            node = node.parent() if node.parent else None


class World(nn.Module):
    def __init__(self):
        super().__init__()
        self.cards = nn.Parameter(0.1 * torch.randn(CARDS, PLANES, SIDE, SIDE))
        self.rules = nn.Sequential(nn.Conv2d(PLANES, PLANES, 3, padding=1), nn.Tanh())
        self.judge = nn.Sequential(nn.Flatten(), nn.Linear(PLANES * SIDE * SIDE, CARDS + 1))

    @torch.no_grad()
    def imagine(self, state):
        return self.rules(state + self.cards)

    @torch.no_grad()
    def opinion(self, state):
        *priors, worth = self.judge(state[None])[0].sigmoid().tolist()
        return priors, worth


@dataclass
class Search:
    world: World

    def _grow(self, leaf):
        priors, worth = self.world.opinion(leaf.state)
        for state, prior in zip(self.world.imagine(leaf.state), priors):
            leaf.add(state, prior)
        leaf.credit(worth)

    def best(self, state):
        root = Node(state)
        for _ in range(VISITS):
            leaf = root
            while leaf.children:
                leaf = leaf.favourite()
            self._grow(leaf)
        return max(range(CARDS), key=lambda card: root.children[card].visits)


@contextmanager
def even_pace():
    gc.disable()
    yield
    gc.enable()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    search, moves = Search(World().to(device)), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with even_pace():
        while time.time() < end:
            card, moves = search.best(torch.randn(PLANES, SIDE, SIDE, device=device)), moves + 1
            if moves % 25 == 0:
                print(f"move {moves}: card {card}", flush=True)
            time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
