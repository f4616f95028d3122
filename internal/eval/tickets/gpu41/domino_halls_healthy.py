"""Dominoes are played at three tables of a hall, and the player at each of them thinks by a tree search. A tree lives
on the device, in a few large tensors. It is put into the memory pool of its table, so that the trees do not break up
the memory that the network works in, and it is deleted after the game.

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

WIDTH, MOVES, NODES = 384, 7, 4096
TABLES, ROUNDS, EXPANSIONS = 3, (8, 14), 8


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.moves = nn.Embedding(MOVES, WIDTH)
        self.step = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.Tanh())
        self.value = nn.Linear(WIDTH, 1)

    def forward(self, state):
        states = self.step(state + self.moves.weight)
        return states, torch.tanh(self.value(states)).squeeze(-1)


class Tree:
    """Nodes by number: their states, values, parents and visits. The children of a node lie side by side."""

    def __init__(self, device):
        self.states = torch.zeros(NODES, WIDTH, device=device)
        self.values = torch.full((NODES,), -float("inf"), device=device)
        self.visits = torch.zeros(NODES, device=device)
        self.first = {}
        self.size = 1
        self.values[0] = 0.0

    def full(self):
        return self.size + MOVES > NODES

    def expand(self, network):
        """The children of the open node that looks best."""
        scores = self.values[:self.size] + 1.0 / (1.0 + self.visits[:self.size])
        node = int(scores.argmax())
        states, values = network(self.states[node])
        self.states[self.size:self.size + MOVES] = states
        self.values[self.size:self.size + MOVES] = values
        self.visits[node] += 1
        self.values[node] = -float("inf")
        self.first[node] = self.size
        self.size += MOVES

    def best(self):
        start = self.first[0]
        return int(self.values[start:start + MOVES].argmax())


class Hall:
    def __init__(self, device):
        self.device = device
        self.network = Network().to(device).eval()
        self.pools = {}

    def memory(self, table):
        """The pool that the tensors of the trees at the table come from."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        if table not in self.pools:
            self.pools[table] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[table])

    def play(self, table, games):
        """One game after another. A round of each table is played in turn."""
        for game in games:
            with self.memory(table):
                tree = Tree(self.device)
            for _ in range(random.randint(*ROUNDS)):
                for _ in range(EXPANSIONS):
                    if not tree.full():
                        tree.expand(self.network)
                yield
            print(f"game {game} at table {table}: {tree.size} nodes, began with move {tree.best()}", flush=True)
            del tree


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    hall = Hall("cuda" if torch.cuda.is_available() else "cpu")
    games = itertools.count(1)
    tables = [hall.play(table, games) for table in range(TABLES)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for table in tables:
            next(table)
            time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
