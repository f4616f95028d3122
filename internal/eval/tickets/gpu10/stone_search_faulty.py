"""A network learns a game of stones by playing against itself, with a tree search that asks the network about new
positions. Positions that have been met are looked up in the table of the search. One search plays all the games.

ticket: practice
class: host-growth
holder: table nodes
cause: cache-without-bound results-kept
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

SIDE, GAMES, MOVES, VISITS = 15, 24, 6, 16
POINTS = SIDE * SIDE


class Node:
    """A position: what the network thinks of its moves, and what came of those that were tried."""

    __slots__ = ("prior", "found")

    def __init__(self, prior):
        self.prior, self.found = prior, np.zeros((2, POINTS), np.float32)  # grows

    def choose(self):
        tried, worth = self.found
        return int((worth / np.maximum(tried, 1) + 2 * self.prior * np.sqrt(1 + tried.sum()) / (1 + tried)).argmax())


def score(board):
    """Stones that stand beside stones of their own, for the one who is to move."""
    square = board.reshape(SIDE, SIDE).astype(np.int32)
    beside = [(one * other == 1) * one for one, other in ((square[1:], square[:-1]), (square[:, 1:], square[:, :-1]))]
    return float(np.tanh(sum(stones.sum() for stones in beside) / 3))


class Search:
    """A tree for each of some games that are played at once; where they meet, they share the positions."""

    def __init__(self, net, device):
        self.net, self.device, self.table = net, device, {}

    @torch.no_grad()
    def expand(self, boards):
        logits = self.net(torch.from_numpy(np.stack(boards)).to(self.device).float()).cpu().numpy()
        for board, row in zip(boards, logits):
            prior = np.where(board == 0, np.exp(row - row.max()), 0).astype(np.float32)
            self.table[board.tobytes()] = Node(prior / prior.sum() - (board != 0))  # keeps

    def visit(self, roots, left):
        """Goes down from each of the boards once, and takes back up what was found."""
        ends = []
        for board in roots:
            path = []
            while len(path) < left and (node := self.table.get(board.tobytes())):
                move = node.choose()
                path.append((node, move))
                board = board.copy()
                board[move] = 1
                board = -board
            ends.append(board)
            worth = score(board)
            for node, move in reversed(path):
                worth = -worth
                node.found[:, move] += 1, worth
        new = [board for board in ends if board.tobytes() not in self.table]
        if new:
            self.expand(new)


def play(search, numbers):
    """Some games at once, from openings of six stones; gives the boards and how often each move was tried."""
    boards = np.zeros((GAMES, POINTS), np.int8)
    for board in boards:
        board[numbers.choice(POINTS, 6, replace=False)] = (1, -1) * 3
    for left in range(MOVES, 0, -1):
        for _ in range(VISITS):
            search.visit(boards, left)
        tried = np.stack([search.table[board.tobytes()].found[0] for board in boards])
        yield boards, tried / tried.sum(1, keepdims=True)
        boards[np.arange(GAMES), tried.argmax(1)] = 1
        boards = -boards
        time.sleep(random.uniform(0.01, 0.05))


def main():
    torch.set_num_threads(1)
    end, numbers, rounds = time.time() + float(os.environ.get("SECONDS", "45")), np.random.default_rng(0), 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = nn.Sequential(nn.Unflatten(1, (1, SIDE, SIDE)), nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(),
                        nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 1, 1), nn.Flatten()).to(device)
    optimizer, search = torch.optim.Adam(net.parameters(), lr=1e-3), Search(net, device)
    while time.time() < end:
        for boards, tried in play(search, numbers):
            logits = net(torch.from_numpy(boards).to(device).float())
            loss = -(torch.from_numpy(tried).to(device) * logits.log_softmax(1)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        rounds += 1
        print("round", rounds, "loss", round(float(loss), 3), "last", round(score(boards[0]), 2), flush=True)


if __name__ == "__main__":
    main()
