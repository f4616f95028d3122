"""A policy gradient agent plays in eight small worlds at once, and after some episodes trains on what it
saw. What it trained on stays in the buffer of the batch, under what the next episodes bring.

ticket: Lightning-Universe/lightning-bolts#425
class: app-leak
holder: batch_states batch_qvals batch_actions rollouts
cause: results-kept cache-without-bound
"""

import argparse
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("reinforce")


class Worlds:
    """Eight worlds in which a bright spot moves, seen as four frames."""

    def __init__(self, count, size, device):
        self.count, self.size, self.device = count, size, device
        self.reset()

    def reset(self):
        self.spot = torch.randint(0, self.size, (self.count, 2), device=self.device)
        self.frames = torch.zeros(self.count, 4, self.size, self.size, device=self.device)
        return self.frames

    def step(self, actions):
        moves = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]], device=self.device)
        self.spot = (self.spot + moves[actions]) % self.size
        frame = torch.zeros(self.count, 1, self.size, self.size, device=self.device)
        frame[torch.arange(self.count, device=self.device), 0, self.spot[:, 0], self.spot[:, 1]] = 1.0
        self.frames = torch.cat([self.frames[:, 1:], frame], dim=1)  # grows
        reward = -(self.spot.float() - self.size / 2).abs().mean(dim=1) / self.size
        return self.frames, reward


class Policy(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, 8, 8, 4), nn.ReLU(), nn.Conv2d(8, 16, 4, 2), nn.ReLU(), nn.Flatten())
        width = self.body(torch.zeros(1, 4, size, size)).shape[1]
        self.head = nn.Linear(width, 4)

    def forward(self, frames):
        return torch.distributions.Categorical(logits=self.head(self.body(frames)))


class Rollouts:
    def __init__(self):
        self.batch_states, self.batch_actions, self.batch_qvals = [], [], []

    def add_episode(self, states, actions, rewards, gamma):
        value, qvals = torch.zeros_like(rewards[0]), []
        for reward in reversed(rewards):
            value = reward + gamma * value
            qvals.insert(0, value)
        self.batch_states.extend(states)  # keeps
        self.batch_actions.extend(actions)
        self.batch_qvals.extend(qvals)

    def draw(self, steps):
        chosen = random.sample(range(len(self.batch_states)), min(steps, len(self.batch_states)))
        return tuple(torch.cat([part[i] for i in chosen])
                     for part in (self.batch_states, self.batch_actions, self.batch_qvals))


class Reinforce:
    def __init__(self, options, device):
        self.options = options
        self.worlds = Worlds(options.worlds, options.size, device)
        self.policy = Policy(options.size).to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.rollouts = Rollouts()

    @torch.no_grad()
    def play(self, steps, keep=True):
        states, actions, rewards = [], [], []
        state = self.worlds.reset()
        for _ in range(steps):
            action = self.policy(state).sample()
            after, reward = self.worlds.step(action)
            if keep:
                states.append(state)
                actions.append(action)
            rewards.append(reward)
            state = after
            time.sleep(self.options.pause)
        if keep:
            self.rollouts.add_episode(states, actions, rewards, 0.98)
        return torch.stack(rewards).mean().item()

    def train(self):
        for _ in range(4):
            states, actions, qvals = self.rollouts.draw(8)
            chosen = self.policy(states)
            loss = -(chosen.log_prob(actions) * (qvals - qvals.mean())).mean() - 0.01 * chosen.entropy().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--pause", type=float, default=0.03)
    parser.add_argument("--episodes", type=int, default=4)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    agent, batch = Reinforce(options, device), 0
    while time.time() < end:
        rewards = [agent.play(random.randint(8, 30)) for _ in range(options.episodes)]
        loss = agent.train()
        batch += 1
        log.info("batch %d: reward %.3f, loss %.3f", batch, sum(rewards) / len(rewards), loss)
        if batch % 5 == 0:
            log.info("evaluation: %.3f", agent.play(20, keep=False))


if __name__ == "__main__":
    main()
