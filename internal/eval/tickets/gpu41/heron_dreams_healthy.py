"""A heron learns to fish in its dreams: a world model imagines short flights, the actor is trained on them by its
advantages, and the critic by their lambda returns, which a slow copy of it bootstraps. Returns are scaled by the range
between their fifth and ninety-fifth percentiles, of which a moving average is taken so that the scale is steady.

ticket: practice
class: none
"""

import copy
import os
import random
import time

import torch
from torch import nn
from torch.distributions import Categorical

LATENT, ACTIONS, WIDTH = 96, 8, 256
HORIZON, FLIGHTS = 12, 128
DISCOUNT, LAMBDA, DECAY = 0.99, 0.95, 0.99


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.ELU(), nn.Linear(WIDTH, WIDTH), nn.ELU(),
                         nn.Linear(WIDTH, outputs))


class ReturnScale:
    """Moving averages of the percentiles between which most returns lie."""

    def __init__(self, device):
        self.low = torch.zeros((), device=device)
        self.high = torch.ones((), device=device)

    def update(self, returns):
        flat = returns.flatten()
        self.low = DECAY * self.low + (1 - DECAY) * torch.quantile(flat, 0.05)
        self.high = DECAY * self.high + (1 - DECAY) * torch.quantile(flat, 0.95)

    def width(self):
        return (self.high - self.low).detach().clamp(min=1.0)


class Dreamer(nn.Module):
    def __init__(self):
        super().__init__()
        self.dynamics = nn.GRUCell(ACTIONS, LATENT)
        self.reward, self.actor, self.critic = mlp(LATENT, 1), mlp(LATENT, ACTIONS), mlp(LATENT, 1)
        self.slow = copy.deepcopy(self.critic)

    @torch.no_grad()
    def imagine(self, state):
        states, actions = [state], []
        for _ in range(HORIZON):
            action = Categorical(logits=self.actor(state)).sample()
            state = self.dynamics(nn.functional.one_hot(action, ACTIONS).float(), state)
            states.append(state)
            actions.append(action)
        states = torch.stack(states)
        return states, torch.stack(actions), self.reward(states[1:]).squeeze(-1)

    def returns(self, states, rewards):
        values = self.slow(states).squeeze(-1)
        result, later = [], values[-1]
        for step in reversed(range(HORIZON)):
            later = rewards[step] + DISCOUNT * ((1 - LAMBDA) * values[step + 1] + LAMBDA * later)
            result.append(later)
        return torch.stack(result[::-1])

    @torch.no_grad()
    def follow(self, share=0.02):
        for slow, fast in zip(self.slow.parameters(), self.critic.parameters()):
            slow.lerp_(fast, share)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dreamer, scale, dreams = Dreamer().to(device), ReturnScale(device), 0
    learned = [*dreamer.actor.parameters(), *dreamer.critic.parameters()]
    optimizer = torch.optim.Adam(learned, lr=3e-4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        start = torch.tanh(torch.randn(FLIGHTS, LATENT, device=device))
        states, actions, rewards = dreamer.imagine(start)
        returns = dreamer.returns(states, rewards)
        scale.update(returns.detach())
        targets, values = returns.detach(), dreamer.critic(states[:-1]).squeeze(-1)
        advantages = (targets - values.detach()) / scale.width()
        policy = Categorical(logits=dreamer.actor(states[:-1]))
        actor_loss = -(policy.log_prob(actions) * advantages).mean() - 3e-3 * policy.entropy().mean()
        critic_loss = nn.functional.mse_loss(values, targets)
        optimizer.zero_grad()
        (actor_loss + critic_loss).backward()
        optimizer.step()
        dreamer.follow()
        dreams += 1
        if dreams % 5 == 0:
            print(f"{dreams} dreams, return {targets.mean():.3f}, scale {scale.width():.2f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
