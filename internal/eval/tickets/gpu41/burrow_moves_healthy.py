"""A rabbit digs through an endless burrow and plans each move by a tree search in the latent states of a learned model,
as MuZero does. After each move, the part of the tree below that move is used again, so the search does not begin anew.
The burrow has no end, so there are no episodes.

ticket: practice
class: none
"""

import math
import os
import random
import time
import weakref

import torch
from torch import nn

CHANNELS, SIDE, ACTIONS = 48, 24, 5
SIMULATIONS, DISCOUNT = 28, 0.97


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, CHANNELS, 3, padding=1), nn.Tanh())
        self.move = nn.Conv2d(CHANNELS + ACTIONS, CHANNELS, 3, padding=1)
        self.heads = nn.Linear(CHANNELS, ACTIONS + 2)

    def start(self, view):
        latent = self.encode(view)
        return latent, *self.judge(latent)

    def step(self, latent, action):
        plane = latent.new_zeros(1, ACTIONS, SIDE, SIDE)
        plane[:, action] = 1
        latent = torch.tanh(self.move(torch.cat([latent, plane], 1)) + latent)
        return latent, *self.judge(latent)

    def judge(self, latent):
        numbers = self.heads(latent.mean((2, 3)))[0]
        priors = torch.softmax(numbers[:ACTIONS], 0).tolist()
        value, reward = (0.1 * torch.tanh(numbers[ACTIONS:])).tolist()
        return priors, value, reward


class Node:
    def __init__(self, prior, parent=None):
        self.prior, self.parent = prior, weakref.ref(parent) if parent else None
        self.latent, self.reward = None, 0.0
        self.visits, self.total, self.children = 0, 0.0, []

    def expand(self, latent, priors, reward):
        self.latent, self.reward = latent, reward
        self.children = [Node(prior, self) for prior in priors]

    def score(self, visits):
        mean = self.total / self.visits if self.visits else 0.0
        return self.reward + DISCOUNT * mean + 2.0 * self.prior * math.sqrt(visits + 1) / (1 + self.visits)

    def select(self):
        action = max(range(ACTIONS), key=lambda choice: self.children[choice].score(self.visits))
        return action, self.children[action]


def backup(node, root, value):
    while node is not None:
        node.visits += 1
        node.total += value
        value = node.reward + DISCOUNT * value
        node = None if node is root else node.parent()


@torch.inference_mode()
def search(model, root):
    for _ in range(SIMULATIONS):
        node, before, action = root, None, None
        while node.children:
            before = node
            action, node = node.select()
        latent, priors, value, reward = model.step(before.latent, action)
        node.expand(latent, priors, reward)
        backup(node, root, value)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, root, moves, gathered = Model().to(device).eval(), Node(1.0), 0, 0.0
    with torch.inference_mode():
        latent, priors, _, reward = model.start(torch.rand(1, 3, SIDE, SIDE, device=device))
    root.expand(latent, priors, reward)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        search(model, root)
        counts = [child.visits if child.children else 0 for child in root.children]
        action = random.choices(range(ACTIONS), counts)[0]
        root = root.children[action]
        moves, gathered = moves + 1, DISCOUNT * gathered + root.reward
        if moves % 20 == 0:
            print(f"{moves} moves, reward {gathered:.3f}, {root.visits} visits used again", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
