"""Robots that carry parcels through a depot learn by policy gradients. The depot tells who listens of what happens in
it: a parcel is delivered, two robots bump. Each episode listens, to give the robots their rewards for it.

ticket: practice
class: app-leak
holder: listeners episode
cause: callbacks-left closure-kept
"""

import collections
import os
import random
import time

import torch
from torch import nn

ROBOTS, SIDE, VIEW = 96, 32, 15


class Depot:
    def __init__(self, device):
        self.device, self.listeners = device, collections.defaultdict(list)
        self.moves = torch.tensor([(0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)], device=device)
        self.robots, self.aims = self.places(), self.places()

    def places(self):
        return torch.randint(SIDE, (ROBOTS, 2), device=self.device)

    def on(self, event, listener):
        self.listeners[event].append(listener)  # keeps

    def tell(self, event, robots):
        for listener in self.listeners[event]:
            listener(robots)

    def look(self):
        """What each robot sees: the other robots around it, and which way its aim is."""
        floor = torch.zeros(SIDE + VIEW, SIDE + VIEW, device=self.device)
        floor[self.robots[:, 0] + VIEW // 2, self.robots[:, 1] + VIEW // 2] = 1
        span = torch.arange(VIEW, device=self.device)
        rows, columns = self.robots[:, :1] + span, self.robots[:, 1:] + span
        around = floor[rows[:, :, None], columns[:, None, :]]
        way = (self.aims - self.robots).float() / SIDE
        sloped = way[:, 0, None, None] * span[:, None] + way[:, 1, None, None] * span[None, :]
        return torch.stack([around, sloped / VIEW], 1)

    def step(self, actions):
        moved = (self.robots + self.moves[actions]).clamp(0, SIDE - 1)
        spots = moved[:, 0] * SIDE + moved[:, 1]
        bumped = torch.bincount(spots, minlength=SIDE * SIDE)[spots] > 1
        self.robots = torch.where(bumped[:, None], self.robots, moved)
        there = (self.robots - self.aims).abs().sum(1) <= 2
        self.tell("bump", bumped)
        self.tell("delivered", there)
        self.aims = torch.where(there[:, None], self.places(), self.aims)


class Episode:
    def __init__(self):
        self.seen, self.done, self.rewards = [], [], []

    def reward(self, robots, amount):
        self.rewards[-1] += amount * robots


def play(depot, policy, steps):
    episode = Episode()
    depot.on("delivered", lambda robots: episode.reward(robots, 1.0))
    depot.on("bump", lambda robots: episode.reward(robots, -0.2))
    for _ in range(steps):
        view = depot.look()  # grows
        with torch.no_grad():
            actions = torch.distributions.Categorical(logits=policy(view)).sample()
        episode.seen.append(view)
        episode.done.append(actions)
        episode.rewards.append(torch.zeros(ROBOTS, device=depot.device))
        depot.step(actions)
        time.sleep(random.uniform(0.01, 0.05))
    return episode


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    depot, end, episodes = Depot(device), time.time() + float(os.environ.get("SECONDS", "45")), 0
    policy = nn.Sequential(nn.Flatten(), nn.Linear(2 * VIEW * VIEW, 64), nn.Tanh(), nn.Linear(64, 5)).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
    while time.time() < end:
        episode = play(depot, policy, random.choice((12, 16, 24)))
        worth = torch.stack(episode.rewards).flip(0).cumsum(0).flip(0)
        worth = (worth - worth.mean()) / (worth.std() + 1e-5)
        chances = policy(torch.cat(episode.seen)).log_softmax(1)
        loss = -(chances.gather(1, torch.cat(episode.done)[:, None])[:, 0] * worth.flatten()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        episodes += 1
        if episodes % 5 == 0:
            print("episode", episodes, "reward", round(float(torch.stack(episode.rewards).mean()), 4), flush=True)


if __name__ == "__main__":
    main()
