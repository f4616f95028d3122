"""A robot arm in a forge learns one task after another. The trunk of its network is shared by all of them; each task
gets a head of its own, which predicts a distribution of the return for each action as C51 does, and is trained by the
same optimizer at a higher rate. A task that was learned does not come back.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SENSED, WIDTH, ACTIONS, ATOMS = 64, 512, 24, 101
BATCH, ROUNDS, DISCOUNT = 128, 8, 0.98


class Task:
    """Heat, hammer and quench: what the arm senses, and what an action is worth, in one task."""

    def __init__(self, number, device):
        generator = torch.Generator().manual_seed(number)
        self.worth = torch.randn(SENSED, ACTIONS, generator=generator).to(device) / SENSED ** 0.5
        self.device = device

    def batch(self):
        sensed = torch.randn(BATCH, SENSED, device=self.device)
        actions = torch.randint(ACTIONS, (BATCH,), device=self.device)
        rewards = (sensed @ self.worth).gather(1, actions[:, None])[:, 0]
        return sensed, actions, rewards, sensed + 0.1 * torch.randn_like(sensed)


class Arm:
    def __init__(self, device):
        self.device = device
        self.trunk = nn.Sequential(nn.Linear(SENSED, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()).to(device)
        self.atoms = torch.linspace(-10.0, 10.0, ATOMS, device=device)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=1e-4)
        self.head = None

    def begin(self):
        """A new head for a new task, in place of the one before."""
        if self.head is not None:
            for parameter in self.optimizer.param_groups.pop()["params"]:
                self.optimizer.state.pop(parameter, None)
        self.head = nn.Linear(WIDTH, ACTIONS * ATOMS).to(self.device)
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 1e-3})

    def logits(self, sensed):
        return self.head(self.trunk(sensed)).view(-1, ACTIONS, ATOMS)

    @torch.no_grad()
    def target(self, rewards, later):
        """The distribution of the best action afterwards, moved by the reward onto the atoms."""
        distributions = self.logits(later).softmax(-1)
        best = (distributions * self.atoms).sum(-1).argmax(1)
        chosen = distributions[torch.arange(BATCH, device=self.device), best]
        moved = (rewards[:, None] + DISCOUNT * self.atoms).clamp(-10.0, 10.0)
        place = (moved + 10.0) / 20.0 * (ATOMS - 1)
        below = place.floor().long()
        above = (below + 1).clamp(max=ATOMS - 1)
        share = place - below
        result = torch.zeros_like(chosen)
        return result.scatter_add_(1, below, chosen * (1 - share)).scatter_add_(1, above, chosen * share)

    def learn(self, sensed, actions, rewards, later):
        logits = self.logits(sensed)[torch.arange(BATCH, device=self.device), actions]
        loss = -(self.target(rewards, later) * F.log_softmax(logits, -1)).sum(-1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arm, number = Arm(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        task = Task(number, device)
        arm.begin()
        first = last = None
        for _ in range(ROUNDS):
            last = arm.learn(*task.batch())
            first = first or last
            time.sleep(random.uniform(0.05, 0.15))
        number += 1
        print(f"task {number}: loss from {first:.3f} to {last:.3f}", flush=True)


if __name__ == "__main__":
    main()
