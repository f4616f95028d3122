"""A policy with a memory drives the cabins of many funiculars up and down the hill and is paid for the passengers that
it brings to the other station. It learns by proximal policy optimization. A rollout notes the steps of all cabins, the
update unrolls short chunks of it from the memory that the policy had there, and then the next rollout begins.

ticket: practice
class: app-leak
holder: memories Rollout rollout
cause: buffer-without-bound entries-left
"""

import os
import random
import time

import torch
from torch import nn
from torch.distributions import Categorical

CABINS, MEMORY, HORIZON, CHUNK, UPDATES = 128, 384, 24, 8, 4


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, MEMORY)
        self.lever = nn.Linear(MEMORY, 3)

    def forward(self, views, memory):
        memory = self.cell(views, memory)  # grows
        return Categorical(logits=self.lever(memory)), memory


class Hill:
    """Cabins between 0 (valley) and 1 (top); passengers wait at both stations."""

    def __init__(self, device):
        self.places = torch.rand(CABINS, device=device)
        self.waiting = torch.randint(5, (CABINS, 2), device=device).float()
        self.load = torch.zeros(CABINS, device=device)

    def views(self):
        return torch.stack([self.places, self.load / 20, *(self.waiting.T / 20)], dim=1)

    def step(self, levers):
        self.places = (self.places + 0.1 * (levers - 1)).clamp(0, 1)
        self.waiting = (self.waiting + (torch.rand_like(self.waiting) < 0.2)).clamp(max=20)
        brought = torch.zeros_like(self.load)
        for station in (0, 1):
            here = (self.places - station).abs() < 0.05
            brought = torch.where(here, self.load, brought)
            self.load = torch.where(here, self.waiting[:, station], self.load)
            self.waiting[:, station] *= ~here
        return brought


class Rollout:
    def __init__(self):
        self.views, self.levers, self.log_probs, self.rewards, self.memories = [], [], [], [], []

    def add(self, views, lever, log_prob, reward, memory):
        self.views.append(views)
        self.levers.append(lever)
        self.log_probs.append(log_prob)
        self.rewards.append(reward)
        self.memories.append(memory)  # keeps

    def clear(self):
        for steps in (self.views, self.levers, self.log_probs, self.rewards):
            steps.clear()


def update(policy, optimizer, rollout):
    gains = torch.stack(rollout.rewards).flip(0).cumsum(0).flip(0)
    gains = (gains - gains.mean()) / (gains.std() + 1e-6)
    for _ in range(UPDATES):
        start = random.randrange(HORIZON - CHUNK + 1)
        memory, loss = rollout.memories[start], 0.0
        for step in range(start, start + CHUNK):
            chances, memory = policy(rollout.views[step], memory)
            ratio = (chances.log_prob(rollout.levers[step]) - rollout.log_probs[step]).exp()
            loss = loss - torch.minimum(ratio * gains[step], ratio.clamp(0.8, 1.2) * gains[step]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy, hill, rollout, rounds = Policy().to(device), Hill(device), Rollout(), 0
    optimizer, memory = torch.optim.Adam(policy.parameters(), lr=3e-4), torch.zeros(CABINS, MEMORY, device=device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(HORIZON):
            views = hill.views()
            with torch.no_grad():
                chances, after = policy(views, memory)  # grows
            lever = chances.sample()
            rollout.add(views, lever, chances.log_prob(lever), hill.step(lever), memory)
            memory = after
            time.sleep(0.02)
        update(policy, optimizer, rollout)
        rounds += 1
        if rounds % 2 == 0:
            print(f"{rounds} rollouts: {torch.stack(rollout.rewards).mean().item():.2f} passengers a step", flush=True)
        rollout.clear()


if __name__ == "__main__":
    main()
