"""A robot mows a meadow that grows again. Before each move it looks ahead by a Monte Carlo tree search; the part of the
tree below the chosen move is used again for the next search, so that its visits are not lost.

ticket: practice
class: none
"""

import math
import os
import random
import time
import weakref

import numpy as np

SIZE, VISITS, DEPTH = 80, 60, 6
MOVES = {"north": (-4, 0), "south": (4, 0), "west": (0, -4), "east": (0, 4)}


class Meadow:
    """The height of the grass in each square, and where the mower stands."""

    def __init__(self, grass, place):
        self.grass, self.place = grass, place

    @classmethod
    def wild(cls):
        return cls(np.random.rand(SIZE, SIZE).astype(np.float32), (SIZE // 2, SIZE // 2))

    def after(self, move):
        """The meadow after a move, and how much was cut."""
        down, across = ((at + step) % SIZE for at, step in zip(self.place, MOVES[move]))
        grass = self.grass + np.float32(0.01) * (1 - self.grass)
        patch = grass[max(down - 3, 0) : down + 4, max(across - 3, 0) : across + 4]
        cut = float(patch.sum())
        patch[:] = 0
        return Meadow(grass, (down, across)), cut


class Node:
    def __init__(self, meadow, parent=None, cut=0.0):
        self.meadow, self.cut = meadow, cut
        self.parent = weakref.ref(parent) if parent else None
        self.children = {}
        self.visits, self.value = 0, 0.0

    def grow(self, move):
        meadow, cut = self.meadow.after(move)
        self.children[move] = Node(meadow, self, cut)
        return self.children[move]

    def best(self):
        """The move whose child promises most, visited seldom or not."""
        def bound(move):
            child = self.children[move]
            return child.value / child.visits + 20 * math.sqrt(math.log(self.visits) / child.visits)
        return max(self.children, key=bound)


class Mower:
    def __init__(self):
        self.root = Node(Meadow.wild())

    def look_ahead(self):
        node = self.root
        while len(node.children) == len(MOVES):
            node = node.children[node.best()]
        node = node.grow(random.choice([move for move in MOVES if move not in node.children]))
        gain, meadow = node.cut, node.meadow
        for _ in range(DEPTH):
            meadow, cut = meadow.after(random.choice(list(MOVES)))
            gain += cut
        while node is not None:
            node.visits += 1
            node.value += gain
            node = node.parent() if node.parent else None

    def move(self):
        while self.root.visits < VISITS:
            self.look_ahead()
        move = max(self.root.children, key=lambda move: self.root.children[move].visits)
        self.root = self.root.children[move]
        return move, self.root.cut


def main():
    mower, moves, cut = Mower(), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        move, gain = mower.move()
        moves, cut = moves + 1, cut + gain
        if moves % 25 == 0:
            print(f"move {moves} to the {move}: {cut / moves:.2f} cut by each", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
