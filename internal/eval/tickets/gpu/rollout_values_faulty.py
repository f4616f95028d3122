"""PPO with a recurrent-free critic over many environments. The values for the advantages are computed
without no_grad, and the explained variance that is logged of each rollout keeps their graph.

ticket: ray-project/ray#6962
class: app-leak
holder: explained returns_log stats
cause: uncut-autograd-graph
"""

import collections
import dataclasses
import logging
import os
import random
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
log = logging.getLogger("ppo")


@dataclasses.dataclass
class Config:
    environments: int = 128
    horizon: int = 16
    observation: int = 128
    width: int = 512
    actions: int = 8
    gamma: float = 0.99
    epochs: int = 2
    kept_rollouts: int = 6


class ActorCritic(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(c.observation, c.width), torch.nn.Tanh(), torch.nn.Linear(c.width, c.width), torch.nn.Tanh()
        )
        self.policy, self.value = torch.nn.Linear(c.width, c.actions), torch.nn.Linear(c.width, 1)

    def forward(self, x):
        h = self.body(x)  # grows
        return torch.distributions.Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


class Rollout:
    def __init__(self):
        self.observations, self.actions, self.log_probs, self.rewards = [], [], [], []

    def add(self, observation, action, log_prob, reward):
        self.observations.append(observation)
        self.actions.append(action)
        self.log_probs.append(log_prob)
        self.rewards.append(reward)

    def stack(self):
        fields = (self.observations, self.actions, self.log_probs, self.rewards)
        return [torch.stack(f) for f in fields]  # grows


class Stats:
    def __init__(self):
        self.explained, self.steps = [], 0

    def update(self, values, returns):
        self.steps += returns.numel()
        self.explained.append(1 - (returns - values).var() / returns.var())

    def line(self):
        last = [float(e) for e in self.explained[-5:]]
        return f"{self.steps} steps, explained variance {sum(last) / len(last):.3f}"


class Ppo:
    def __init__(self, config):
        self.c, self.model, self.stats = config, ActorCritic(config).to(device), Stats()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-4)
        self.state = self.reset()
        self.recent = collections.deque(maxlen=config.kept_rollouts)

    def reset(self):
        return torch.randn(self.c.environments, self.c.observation, device=device)

    def collect(self):
        rollout = Rollout()
        for _ in range(self.c.horizon):
            with torch.no_grad():
                policy, _ = self.model(self.state)
            action = policy.sample()
            reward = self.state[:, 0] * (action.float() - 3.5)
            rollout.add(self.state, action, policy.log_prob(action), reward)
            self.state = self.state.roll(1, 1) * 0.95 + 0.3 * torch.randn_like(self.state)
            time.sleep(0.02)
        return rollout.stack()

    def compute_advantages(self, observations, rewards):
        values = self.model(observations)[1]
        returns, running = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
        for t in reversed(range(self.c.horizon)):
            running = returns[t] = rewards[t] + self.c.gamma * running
        self.stats.update(values, returns)
        return returns, (returns - values).detach()

    def train(self, observations, actions, old, returns, advantages):
        for _ in range(self.c.epochs):
            policy, values = self.model(observations)
            ratio = (policy.log_prob(actions) - old).exp()
            surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = (returns - values).square().mean() - surrogate.mean() - 0.01 * policy.entropy().mean()
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
            self.optimizer.step()

    @torch.no_grad()
    def evaluate(self):
        state, total = self.reset(), 0.0
        for _ in range(random.randint(4, 20)):
            action = self.model(state)[0].probs.argmax(dim=-1)
            total += (state[:, 0] * (action.float() - 3.5)).mean().item()
            state = state.roll(1, 1)
        return total

    def iterate(self):
        observations, actions, old, rewards = self.collect()
        returns, advantages = self.compute_advantages(observations, rewards)
        self.recent.append((observations, actions, old, returns, advantages))
        for batch in random.sample(list(self.recent), min(2, len(self.recent))):
            self.train(*batch)


def main():
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    end, ppo, iteration = time.time() + float(os.environ.get("SECONDS", "40")), Ppo(Config()), 0
    while time.time() < end:
        ppo.iterate()
        iteration += 1
        if iteration % 8 == 0:
            log.info("%s, evaluated %.2f", ppo.stats.line(), ppo.evaluate())


if __name__ == "__main__":
    main()
