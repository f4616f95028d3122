"""Robots learn to push crates to a wall, many of them at once, by PPO. They see a small map. As the reward is rare,
they are also rewarded for what is new to them: the features of what they see are compared to those of the last steps.
The rollout has a place for everything that is needed on the way to an update, and is emptied after it.

ticket: practice
class: app-leak
holder: features rollout Rollout
cause: buffer-without-bound results-kept
"""

import os
import random
import time

import torch
from torch import nn

ROBOTS, SIDE, MOVES, FEATURES = 64, 12, 5, 512
ROLLOUTS, LATELY = (16, 24, 32), 8


class Rollout:
    def __init__(self):
        self.seen, self.moves, self.chances, self.values, self.rewards, self.features = ([] for _ in range(6))

    def add(self, seen, move, chance, value, features):
        self.seen.append(seen)
        self.moves.append(move)
        self.chances.append(chance)
        self.values.append(value)
        self.features.append(features)  # keeps

    def clear(self):
        for part in self.seen, self.moves, self.chances, self.values, self.rewards:
            part.clear()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Flatten(), nn.Linear(2 * SIDE * SIDE, FEATURES), nn.Tanh())
        self.actor, self.critic = nn.Linear(FEATURES, MOVES), nn.Linear(FEATURES, 1)

    def forward(self, seen):
        features = self.look(seen)  # grows
        return torch.distributions.Categorical(logits=self.actor(features)), self.critic(features)[:, 0], features


class Yard:
    """Robots and their crates, each pair in a yard of its own."""

    def __init__(self, device):
        self.places = torch.randint(2, SIDE - 2, (2, ROBOTS, 2), device=device)
        self.steps = torch.tensor([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], device=device)

    def look(self):
        seen = torch.zeros(ROBOTS, 2, SIDE * SIDE, device=self.places.device)
        cells = self.places[..., 0] * SIDE + self.places[..., 1]
        return seen.scatter_(2, cells.T[..., None], 1.0)

    def step(self, moves):
        robots = (self.places[0] + self.steps[moves]).clamp(0, SIDE - 1)
        pushed = (robots == self.places[1]).all(1, keepdim=True)
        crates = self.places[1] + pushed * self.steps[moves]
        there = (crates <= 0).any(1) | (crates >= SIDE - 1).any(1)
        crates = torch.where(there[:, None], torch.randint_like(crates, 2, SIDE - 2), crates)
        self.places = torch.stack([robots, crates])
        return there.float()


def update(agent, optimizer, rollout):
    returns, after = [], torch.zeros_like(rollout.rewards[0])
    for reward in reversed(rollout.rewards):
        after = reward + 0.95 * after
        returns.insert(0, after)
    returns, values = torch.cat(returns), torch.cat(rollout.values)
    seen, moves, before = torch.cat(rollout.seen), torch.cat(rollout.moves), torch.cat(rollout.chances)
    gain = (returns - values) / (returns - values).std().clamp(min=1e-3)
    for _ in range(2):
        choices, values, _ = agent(seen)
        ratio = (choices.log_prob(moves) - before).exp()
        policy = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        loss = policy + 0.5 * (returns - values).square().mean() - 0.01 * choices.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
yard, agent, rollout, updates = Yard(device), Agent().to(device), Rollout(), 0
optimizer = torch.optim.Adam(agent.parameters(), 3e-4)
end = time.time() + float(os.environ.get("SECONDS", "45"))
while time.time() < end:
    for _ in range(random.choice(ROLLOUTS)):
        seen = yard.look()
        with torch.no_grad():
            choices, value, features = agent(seen)
            move = choices.sample()
            rollout.add(seen, move, choices.log_prob(move), value, features)
            lately = torch.stack(rollout.features[-LATELY:])
            new = (features - lately.mean(0)).square().mean(1)
        rollout.rewards.append(yard.step(move) + 0.1 * new)
        time.sleep(random.uniform(0.01, 0.03))
    reward = torch.stack(rollout.rewards).mean().item()
    update(agent, optimizer, rollout)
    rollout.clear()
    updates += 1
    if updates % 4 == 0:
        print("update", updates, "reward", round(reward, 4), flush=True)
