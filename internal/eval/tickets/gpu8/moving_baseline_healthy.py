"""Drones learn to hold their place by policy gradient; a return is set against a moving mean of what the critic
promises, which is taken up as a number alone.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn


class Drones:
    """Many drones in the wind, all on the device."""

    def __init__(self, count, device):
        self.count, self.device = count, device
        self.place = torch.zeros(count, 3, device=device)
        self.speed = torch.zeros(count, 3, device=device)

    def state(self):
        return torch.cat([self.place, self.speed], 1)

    def step(self, thrust):
        wind = 0.3 * torch.randn(self.count, 3, device=self.device)
        self.speed = 0.95 * self.speed + 0.1 * (thrust.clamp(-1, 1) + wind)
        self.place = self.place + 0.1 * self.speed
        lost = self.place.norm(dim=1) > 4
        self.place[lost], self.speed[lost] = 0, 0
        return 1 - self.place.norm(dim=1) - 5 * lost.float()


def network(outputs):
    return nn.Sequential(nn.Linear(6, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, outputs))


class Agent:
    def __init__(self, device):
        self.policy, self.critic = network(3).to(device), network(1).to(device)
        self.level = torch.zeros((), device=device)
        self.optimizer = torch.optim.Adam([*self.policy.parameters(), *self.critic.parameters()], lr=1e-3)

    def act(self, state):
        spread = torch.distributions.Normal(self.policy(state), 0.3)
        thrust = spread.sample()
        return thrust, spread.log_prob(thrust).sum(1)

    def learn(self, states, chances, returns):
        promised = self.critic(states).squeeze(1)
        advantage = returns - promised.detach() - self.level.detach()
        loss = -(chances * advantage).mean() + nn.functional.mse_loss(promised, returns)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            rest = returns.mean() - self.critic(states).mean()
        self.level = 0.95 * self.level + 0.05 * rest
        return loss.item()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    drones, agent, updates = Drones(160, device), Agent(device), 0
    while time.time() < end:
        states, chances, rewards = [], [], []
        for _ in range(random.choice((12, 16, 24))):
            states.append(drones.state())
            thrust, chance = agent.act(states[-1])
            rewards.append(drones.step(thrust))
            chances.append(chance)
        total, returns = torch.zeros(drones.count, device=device), []
        for reward in reversed(rewards):
            total = reward + 0.9 * total
            returns.insert(0, total)
        loss = agent.learn(torch.cat(states), torch.cat(chances), torch.cat(returns))
        updates += 1
        if updates % 40 == 0:
            print("update", updates, "loss", round(loss, 3), "level", round(agent.level.item(), 3), flush=True)
            time.sleep(random.uniform(0, 0.3))
        time.sleep(random.uniform(0.04, 0.15))


if __name__ == "__main__":
    main()
