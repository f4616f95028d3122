"""A program plays a game with marbles against itself. For each move it grows a tree of positions, which a network on
the card values a level at a time, and the best value is carried up to the root. The garbage collector is off and
runs between the moves, so that no pause spoils the clock of a move.

ticket: practice
class: none
"""

import gc
import os
import time

import numpy as np
import torch
from torch import nn

SIDE, KINDS, BRANCHES, LEVELS = 24, 8, 4, 3

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))
rng = np.random.default_rng(4)

net = nn.Sequential(
    nn.Conv2d(KINDS, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 1), nn.Tanh(),
).to(device).eval()


class Node:
    def __init__(self, planes, parent=None):
        self.planes = planes
        self.parent = parent
        self.children = []
        self.value = 0.0


def play(planes):
    """The position after a marble of some kind was pushed one place along its row."""
    after = planes.copy()
    kind, row = rng.integers(KINDS), rng.integers(SIDE)
    after[kind, row] = np.roll(after[kind, row], 1)
    return after


def grow(node):
    for _ in range(BRANCHES):
        node.children.append(Node(play(node.planes), parent=node))
    return node.children


@torch.no_grad()
def judge(nodes):
    planes = torch.from_numpy(np.stack([node.planes for node in nodes])).to(device)
    for node, value in zip(nodes, net(planes).flatten().tolist()):
        node.value = value


def carry_up(node):
    """Each parent learns of the best that lies under it."""
    while node.parent is not None:
        node.parent.value = max(node.parent.value, -node.value)
        node = node.parent


def best_move(planes):
    root = Node(planes)
    level = [root]
    for _ in range(LEVELS):
        level = [child for node in level for child in grow(node)]
        judge(level)
    for leaf in level:
        carry_up(leaf)
    best = min(root.children, key=lambda child: child.value)
    return best.planes, best.value


gc.disable()
board = (rng.random((KINDS, SIDE, SIDE)) < 0.1).astype(np.float32)
moves = 0
slowest = 0.0

while time.time() < end:
    start = time.time()
    board, value = best_move(board)
    moves += 1
    slowest = max(slowest, time.time() - start)
    gc.collect()
    if moves % 60 == 0:
        board = (rng.random((KINDS, SIDE, SIDE)) < 0.1).astype(np.float32)
    if moves % 20 == 0:
        print(f"move {moves}: value {value:.3f}, slowest move {1000 * slowest:.0f} ms", flush=True)
        slowest = 0.0
    time.sleep(0.1)
