"""A bot plays five in a row against itself with pebbles on a large board. For each move it grows a search tree, in
which a network on the device says for each position what to try and who is ahead. It plays a move from the root, most
often the one tried most, and the next move gets a new tree.

ticket: practice
class: host-growth
holder: parent children Node
cause: reference-cycle
"""

import gc
import os
import random
import time

import numpy as np
import torch
from torch import nn

SIDE, HISTORY, TRIES = 19, 8, 64
POINTS = SIDE * SIDE


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2 * HISTORY, 32, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
        self.moves, self.ahead = nn.Conv2d(32, 1, 1), nn.Linear(32, 1)

    def forward(self, planes):
        hidden = self.body(planes)
        return self.moves(hidden).flatten(1), torch.tanh(self.ahead(hidden.mean((2, 3))))


class Node:
    """A position in the tree: its last boards, and how often each move was tried in it."""

    def __init__(self, planes, side, move=None, parent=None):
        self.planes, self.side, self.move = planes, side, move
        self.parent, self.children = parent, {}  # keeps
        self.free = planes[:2].sum(0).reshape(-1) == 0
        self.visits, self.values = np.zeros(POINTS, np.float32), np.zeros(POINTS, np.float32)  # grows

    def best(self):
        trust = 1.5 * self.priors * np.sqrt(self.visits.sum() + 1) / (1 + self.visits)
        return int(np.argmax(np.where(self.free, self.values / (1 + self.visits) + trust, -np.inf)))


def after(planes, side, move):
    """The last boards once a side has put a pebble there."""
    board = planes[:2].copy()
    board[side, move // SIDE, move % SIDE] = 1
    return np.concatenate((board, planes[:-2]))  # grows


@torch.inference_mode()
def judge(model, node, device):
    own_first = node.planes.reshape(HISTORY, 2, SIDE, SIDE)[:, ::-1 if node.side else 1].reshape(1, -1, SIDE, SIDE)
    scores, ahead = model(torch.from_numpy(np.ascontiguousarray(own_first)).to(device))
    node.priors = scores[0].softmax(0).cpu().numpy()  # grows
    return ahead.item()


def choose(model, planes, side, device):
    root = Node(planes, side)  # grows
    judge(model, root, device)
    for _ in range(TRIES):
        node, move = root, root.best()
        while move in node.children:
            node = node.children[move]
            move = node.best()
        child = Node(after(node.planes, node.side, move), 1 - node.side, move, node)  # grows
        node.children[move] = child  # keeps
        value = judge(model, child, device)
        while child.parent is not None:
            value = -value
            child.parent.visits[child.move] += 1
            child.parent.values[child.move] += value
            child = child.parent
    return int(root.visits.argmax()) if random.random() < 0.7 else int(np.random.choice(np.flatnonzero(root.free)))


def main():
    torch.set_num_threads(1)
    gc.disable()  # its pauses cost time on the clock
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, games, moves = Judge().to(device).eval(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        planes, side, games = np.zeros((2 * HISTORY, SIDE, SIDE), np.float32), 0, games + 1
        for _ in range(60):
            move = choose(model, planes, side, device)
            planes, side, moves = after(planes, side, move), 1 - side, moves + 1
            if moves % 10 == 0:
                print(f"game {games}, {moves} moves, last at {move // SIDE}, {move % SIDE}", flush=True)
            if time.time() > end:
                break
            time.sleep(0.05)


if __name__ == "__main__":
    main()
