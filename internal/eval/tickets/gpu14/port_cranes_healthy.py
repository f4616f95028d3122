"""A crane in a port has to choose from which bay to take the next container. It looks ahead with a learnt model of the
yard, by growing a tree of moves, in jax. The move that was looked at most is made, and the tree below it is used again
for the next choice, without end, as ships keep coming; what is above it is let go.

ticket: JuliaPOMDP/MCTS.jl#77
class: none
"""

import math
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

BAYS, TIERS, WIDTH, MOVES, LOOKS = 48, 24, 48, 6, 20


class Node:
    """A yard that may come to be, with those after it."""

    def __init__(self, state, priors, worth):
        self.state, self.priors, self.worth = state, priors, worth
        self.children, self.visits, self.total = {}, 0, 0.0

    def best(self):
        def promise(move):
            child = self.children.get(move)
            mean, visits = (child.total / child.visits, child.visits) if child else (self.worth, 0)
            return mean + 1.5 * self.priors[move] * math.sqrt(self.visits + 1) / (1 + visits)
        return max(range(MOVES), key=promise)


def weights(seed=3):
    luck = np.random.default_rng(seed)
    shapes = {"mix": (WIDTH, WIDTH), "move": (MOVES, BAYS, WIDTH), "prior": (WIDTH, MOVES), "worth": (WIDTH,)}
    return {name: jnp.asarray(luck.normal(0, 1 / math.sqrt(shape[-1]), shape), jnp.float32)
            for name, shape in shapes.items()}


@jax.jit
def model(params, state, move):
    """The yard after a move, which moves are likely then, and how good that yard is."""
    moved = state + params["move"][move][:, None]
    moved = moved + 0.5 * jnp.roll(moved, 1, 0) - 0.5 * jnp.roll(moved, -1, 1)
    state = jnp.tanh(moved @ params["mix"])
    whole = state.mean((0, 1))
    return state, jax.nn.softmax(4 * whole @ params["prior"]), jnp.tanh(whole @ params["worth"])


class Planner:
    def __init__(self, params):
        self.params = params
        state = jnp.zeros((BAYS, TIERS, WIDTH), jnp.float32)
        self.root = self.node(state, 0)

    def node(self, state, move):
        state, priors, worth = model(self.params, state, move)
        return Node(state, np.asarray(priors), float(worth))

    def look(self):
        """Down the tree to a new yard, and what it is worth up again."""
        node, move, way = self.root, self.root.best(), [self.root]
        while move in node.children:
            node = node.children[move]
            move = node.best()
            way.append(node)
        node.children[move] = self.node(node.state, move)
        way.append(node.children[move])
        worth = way[-1].worth
        for node in reversed(way):
            node.visits, node.total = node.visits + 1, node.total + worth
            worth = 0.97 * worth

    def choose(self):
        for _ in range(LOOKS):
            self.look()
        move = max(self.root.children, key=lambda move: self.root.children[move].visits)
        self.root = self.root.children[move]
        return move


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    planner, moves, said = Planner(weights()), [0] * MOVES, time.time()
    while time.time() < end:
        moves[planner.choose()] += 1
        if time.time() - said > 2:
            said = time.time()
            print("moves", moves, "yard is worth", round(planner.root.worth, 3), flush=True)
        time.sleep(random.uniform(0.2, 0.6))


if __name__ == "__main__":
    main()
