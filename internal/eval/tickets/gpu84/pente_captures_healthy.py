"""Plays the board game Pente against itself with a tree search that a network guides.

Five stones in a row win on the 15 by 15 board, and so do five captured pairs.  For each move the
search grows a tree of positions, asks the network about sixteen of them at a time, and plays the
move it looked at most; the part of the tree below that move is used again for the reply.  The
moves have to come on the beat of the referee's clock.  The first moves of a game are drawn by lot
among those that the search found worth a look.

ticket: practice
class: none
"""
import gc
import os
import time
import weakref

import numpy as np
import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIDE = 15
POINTS = SIDE * SIDE
PLANES = 12
LEAVES = 16
ROUNDS = 7
WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))


class Position:
    __slots__ = ("boards", "mover", "pairs", "last", "over")

    def __init__(self, boards, mover, pairs, last, over):
        self.boards, self.mover, self.pairs, self.last, self.over = boards, mover, pairs, last, over

    def play(self, move):
        board = self.boards[0].copy()
        row, column = divmod(move, SIDE)
        board[row, column] = self.mover
        taken = 0
        for down, right in WAYS + tuple((-a, -b) for a, b in WAYS):
            spots = [(row + n * down, column + n * right) for n in (1, 2, 3)]
            if all(0 <= r < SIDE and 0 <= c < SIDE for r, c in spots[2:]):
                if [board[spot] for spot in spots] == [-self.mover, -self.mover, self.mover]:
                    board[spots[0]] = board[spots[1]] = 0
                    taken += 1
        pairs = (self.pairs[1], self.pairs[0] + taken)
        over = pairs[1] >= 5 or self.row_of_five(board, row, column) or not (board == 0).any()
        return Position((board,) + self.boards[:3], -self.mover, pairs, move, over)

    def row_of_five(self, board, row, column):
        for down, right in WAYS:
            run = 1
            for sign in (1, -1):
                r, c = row + sign * down, column + sign * right
                while 0 <= r < SIDE and 0 <= c < SIDE and board[r, c] == self.mover:
                    run, r, c = run + 1, r + sign * down, c + sign * right
            if run >= 5:
                return True
        return False


class Node:
    """A position in the tree, with the planes for the network and the numbers of the search."""

    def __init__(self, position, parent, move):
        self.position = position
        self.parent = None if parent is None else weakref.ref(parent)
        self.move = move
        self.children = {}
        self.planes = np.zeros((PLANES, SIDE, SIDE), np.float32)
        for number, board in enumerate(position.boards):
            self.planes[2 * number] = board == position.mover
            self.planes[2 * number + 1] = board == -position.mover
        self.planes[8], self.planes[9] = position.pairs[0] / 5, position.pairs[1] / 5
        self.planes[10] = position.mover
        if position.last is not None:
            self.planes[11].flat[position.last] = 1.0
        self.priors = None
        self.visits = np.zeros(POINTS, np.float32)
        self.totals = np.zeros(POINTS, np.float32)

    def pick(self):
        mean = self.totals / np.maximum(self.visits, 1.0)
        reach = 1.5 * self.priors * (1.0 + self.visits.sum()) ** 0.5 / (1.0 + self.visits)
        return int(np.argmax(np.where(self.priors > 0, mean + reach, -np.inf)))


def descend(root):
    node = root
    while node.priors is not None and not node.position.over:
        move = node.pick()
        node.visits[move] += 1
        if move not in node.children:
            node.children[move] = Node(node.position.play(move), node, move)
        node = node.children[move]
    return node


def report(node, value):
    while node.parent is not None:
        value = -value
        above = node.parent()
        above.totals[node.move] += value
        node = above


@torch.no_grad()
def search(network, root):
    for _ in range(ROUNDS):
        leaves = [descend(root) for _ in range(LEAVES)]
        planes = torch.from_numpy(np.stack([leaf.planes for leaf in leaves])).to(DEVICE)
        answers = network(planes).cpu().numpy()
        for leaf, answer in zip(leaves, answers):
            priors = np.exp(answer[:POINTS] - answer[:POINTS].max())
            priors *= leaf.position.boards[0].ravel() == 0
            leaf.priors = (priors / max(priors.sum(), 1e-9)).astype(np.float32)
            report(leaf, -1.0 if leaf.position.over else float(np.tanh(answer[POINTS])))


def choose(root, lots, opening):
    if opening:
        return int(lots.choice(POINTS, p=root.visits.astype(np.float64) / root.visits.sum()))
    return int(np.argmax(root.visits))


def main():
    ends = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(12)
    gc.disable()
    network = nn.Sequential(nn.Conv2d(PLANES, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 8, 3, padding=1),
                            nn.ReLU(), nn.Flatten(), nn.Linear(8 * POINTS, POINTS + 1)).to(DEVICE).eval()
    empty = (np.zeros((SIDE, SIDE), np.int8),) * 4
    lots = np.random.default_rng(6)
    games = moves = captures = 0
    while time.time() < ends:
        root = Node(Position(empty, 1, (0, 0), None, False), None, None)
        games, ply = games + 1, 0
        while not root.position.over and time.time() < ends:
            search(network, root)
            root = root.children[choose(root, lots, opening=ply < 8)]
            root.parent = None
            moves, ply = moves + 1, ply + 1
            if moves % 20 == 0:
                print(f"game {games}, {moves} moves, pairs {root.position.pairs}", flush=True)
            time.sleep(0.06)
        captures += sum(root.position.pairs)
    print(f"{games} games begun, {captures} pairs captured", flush=True)


if __name__ == "__main__":
    main()
