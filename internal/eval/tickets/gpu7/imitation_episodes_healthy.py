"""An agent learns from what it plays and imitates its own good episodes: those that were better than expected go into
a list of the last eight, from which a few are drawn at every update.

ticket: practice
class: none
"""

import collections
import os
import random
import time

import torch
from torch import nn


class Worlds:
    """Pictures of some small worlds at once, drawn on the device."""

    def __init__(self, count, device, size=32):
        self.count, self.size, self.device = count, size, device
        self.grid = torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, size, device=device)] * 2, indexing="ij"))
        self.reset()

    def reset(self):
        self.place = torch.rand(self.count, 2, device=self.device) * 2 - 1
        self.goal = torch.rand(self.count, 2, device=self.device) * 2 - 1
        return self.picture()

    def picture(self):
        spots = [(-8 * (self.grid - p[..., None, None]).square().sum(1)).exp() for p in (self.place, self.goal)]
        return torch.stack(spots, 1)

    def step(self, actions):
        moves = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]], device=self.device) * 0.1
        self.place = (self.place + moves[actions]).clamp(-1, 1)
        return self.picture(), -(self.place - self.goal).norm(dim=1)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 16, 5, 3), nn.ReLU(), nn.Flatten(), nn.Linear(1600, 128), nn.ReLU())
        self.policy, self.value = nn.Linear(128, 4), nn.Linear(128, 1)

    def forward(self, pictures):
        x = self.body(pictures)
        return self.policy(x), self.value(x).squeeze(-1)


class Learner:
    def __init__(self, device):
        self.worlds, self.agent = Worlds(4, device), Agent().to(device)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), lr=3e-4)
        self.expected = None
        self.good = collections.deque(maxlen=8)

    @torch.no_grad()
    def play(self, length=100):
        pictures, actions, rewards = [], [], []
        picture = self.worlds.reset()
        for _ in range(length):
            action = torch.distributions.Categorical(logits=self.agent(picture)[0]).sample()
            pictures.append(picture)
            actions.append(action)
            picture, reward = self.worlds.step(action)
            rewards.append(reward)
            time.sleep(0.008)
        return torch.stack(pictures, 1), torch.stack(actions, 1), torch.stack(rewards, 1)

    def update(self):
        pictures, actions, rewards = self.play()
        returns = rewards.flip(1).cumsum(1).flip(1) / 20
        totals = rewards.sum(1).tolist()
        self.expected = sum(totals) / 4 if self.expected is None else self.expected * 0.9 + sum(totals) / 40
        for world, total in enumerate(totals):
            if total > self.expected:
                episode = pictures[world].clone(), actions[world].clone(), returns[world].clone()
                self.good.append(episode)
        drawn = random.sample(list(self.good), min(2, len(self.good)))
        self.learn(pictures.flatten(0, 1), actions.flatten(), returns.flatten())
        for episode in drawn:
            self.learn(*episode, imitate=True)
        return self.expected

    def learn(self, pictures, actions, returns, imitate=False):
        logits, values = self.agent(pictures)
        advantages = (returns - values).detach()
        advantages = advantages.clamp_min(0) if imitate else advantages
        chosen = logits.log_softmax(-1).gather(1, actions[:, None])[:, 0]
        loss = -(chosen * advantages).mean() + 0.5 * nn.functional.mse_loss(values, returns)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    learner, updates = Learner("cuda" if torch.cuda.is_available() else "cpu"), 0
    while time.time() < end:
        expected = learner.update()
        updates += 1
        if updates % 10 == 0:
            print(updates, round(expected, 2), len(learner.good), flush=True)


if __name__ == "__main__":
    main()
