"""A planner steers a marble through chutes that never end. At each fork it looks ahead by tree search in the latent
space of a learned model, in the manner of MuZero, rolls the marble down the chute most visited, and goes on with the
part of the tree that lies below.

ticket: practice
class: app-leak
holder: parent Node
cause: snapshots-kept results-kept
"""

import math
import os
import time

import torch
from torch import nn

CHUTES, CHANNELS, SIDE, VISITS, DISCOUNT = 4, 32, 8, 60, 0.97


class World(nn.Module):
    """What becomes of a latent state in each of the chutes: next states, rewards and values."""

    def __init__(self):
        super().__init__()
        self.move = nn.Sequential(
            nn.Conv2d(CHANNELS + CHUTES, CHANNELS, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
            nn.Tanh(),
        )
        self.heads = nn.Linear(CHANNELS, 2)
        self.register_buffer("planes", torch.eye(CHUTES)[:, :, None, None].expand(-1, -1, SIDE, SIDE).clone())

    def forward(self, latent):
        inputs = torch.cat([latent.expand(CHUTES, -1, -1, -1), self.planes], dim=1)
        latents = self.move(inputs)  # grows
        outputs = self.heads(latents.mean((2, 3))).tolist()
        return latents, [(math.tanh(reward), math.tanh(value)) for reward, value in outputs]


class Node:
    def __init__(self, latent, reward=0.0, guess=0.0, parent=None):
        self.latent, self.reward, self.guess = latent, reward, guess
        self.parent = parent  # keeps
        self.children = []
        self.visits, self.total = 0, 0.0

    def score(self, visits):
        mean = self.total / self.visits if self.visits else self.guess
        return self.reward + DISCOUNT * mean + 0.4 * math.sqrt(visits + 1) / (1 + self.visits)

    def best(self):
        return max(self.children, key=lambda child: child.score(self.visits))


def expand(world, node):
    latents, outcomes = world(node.latent)
    for latent, (reward, value) in zip(latents, outcomes):
        node.children.append(Node(latent, reward, value, parent=node))
    return max(value for _, value in outcomes)


def simulate(world, root):
    node = root
    while node.children:
        node = node.best()
    value = expand(world, node)
    while node is not None:
        node.visits += 1
        node.total += value
        value = node.reward + DISCOUNT * value
        node = node.parent


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    world = World().to(device).eval()
    root, forks, gained = Node(torch.randn(1, CHANNELS, SIDE, SIDE, device=device)), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while root.visits < VISITS:
            simulate(world, root)
        root = max(root.children, key=lambda child: child.visits)
        forks += 1
        gained += root.reward
        if forks % 25 == 0:
            print(f"fork {forks}, gained {gained:.2f}, {root.visits} visits kept", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
