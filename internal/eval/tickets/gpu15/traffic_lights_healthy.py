"""Traffic lights at a crossing learn by PPO when to turn green: some crossings are simulated side by side and seen
from above, what happens is written into a rollout, and when that is long enough the policy learns from it and it is
cleared. What the crossings looked like after the action has come to the rollout later, for the value of the last step.

ticket: nikhilbarhate99/PPO-PyTorch#16
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

CROSSINGS, SIDE, LIGHTS, LENGTH, ROUNDS = 16, 64, 4, 12, 2


class Rollout:
    def __init__(self):
        self.views, self.actions, self.chances, self.rewards, self.values = [], [], [], [], []
        self.following = []

    def add(self, view, action, chance, reward, value, following):
        self.views.append(view)
        self.actions.append(action)
        self.chances.append(chance)
        self.rewards.append(reward)
        self.values.append(value)
        self.following.append(following)

    def clear(self):
        for kept in (self.views, self.actions, self.chances, self.rewards, self.values, self.following):
            kept.clear()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(LIGHTS, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 16, 4, 2), nn.ReLU(),
                                  nn.Flatten(), nn.Linear(16 * 6 * 6, 64), nn.ReLU())
        self.heads = nn.Linear(64, LIGHTS + 1)

    def forward(self, views):
        heads = self.heads(self.body(views))
        return Categorical(logits=heads[:, 1:]), heads[:, 0]


class Crossings:
    """Cars wait in each of four roads; a plane of the picture is a road."""

    def __init__(self, device):
        self.queues = torch.zeros(CROSSINGS, LIGHTS, device=device)
        self.places = torch.linspace(0, 12, SIDE, device=device)

    def look(self):
        filled = torch.sigmoid(4 * (self.queues[..., None] - self.places))
        noise = 0.05 * torch.randn(CROSSINGS, LIGHTS, SIDE, SIDE, device=filled.device)
        return noise + filled[..., None, :]

    def step(self, green):
        come, go = torch.rand_like(self.queues).lt(0.3), 2 * F.one_hot(green, LIGHTS)
        self.queues = (self.queues + come - go).clamp(0, 12)
        return self.look(), -self.queues.mean(1)


def learn(policy, optimizer, rollout):
    last, returns = policy(rollout.following[-1])[1].detach(), []
    for reward in reversed(rollout.rewards):
        last = reward + 0.95 * last
        returns.insert(0, last)
    views, actions, before = torch.cat(rollout.views), torch.cat(rollout.actions), torch.cat(rollout.chances)
    returns, values = torch.cat(returns), torch.cat(rollout.values)
    better = (returns - values) / (returns.std() + 1e-3)
    for _ in range(ROUNDS):
        choice, value = policy(views)
        ratio = (choice.log_prob(actions) - before).exp()
        loss = -torch.min(ratio * better, ratio.clamp(0.8, 1.2) * better).mean() + 0.1 * F.mse_loss(value, returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rollout.clear()
    return float(loss.detach())


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy, crossings, rollout, updates = Policy().to(device), Crossings(device), Rollout(), 0
    optimizer, view = torch.optim.Adam(policy.parameters(), 3e-4), crossings.look()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(LENGTH):
            with torch.no_grad():
                choice, value = policy(view)
                action = choice.sample()
                following, reward = crossings.step(action)
            rollout.add(view, action, choice.log_prob(action), reward, value, following)
            view = following
            time.sleep(random.uniform(0.02, 0.2))
        loss, updates = learn(policy, optimizer, rollout), updates + 1
        print("update", updates, "loss", round(loss, 3), "cars", round(float(crossings.queues.sum())), flush=True)


if __name__ == "__main__":
    main()
