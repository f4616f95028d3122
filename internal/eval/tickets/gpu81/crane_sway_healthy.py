"""Harbour cranes learn to move a load without sway. A critic says how well a state and a push will end, an actor picks
the push, and a slow copy of both gives the targets. Rewards change with the wind, so the targets are divided by a
running mean of their size before the critic sees them.

ticket: practice
class: none
"""

import copy
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

CRANES, STATE, WIDTH = 768, 6, 256
DISCOUNT, SLOW, MEMORY = 0.97, 0.01, 0.98


def network(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, outputs)
    )


class Harbour:
    """Trolley place and speed, load angle and speed, rope length and wind of many cranes."""

    def __init__(self, device):
        self.state = 0.3 * torch.randn(CRANES, STATE, device=device)

    def step(self, push):
        place, speed, angle, turn, rope, wind = self.state.unbind(1)
        force = push[:, 0].clamp(-1, 1)
        turn = 0.995 * turn + 0.05 * (wind - torch.sin(angle) - force * torch.cos(angle)) / (1.5 + rope.abs())
        speed = 0.98 * speed + 0.05 * force
        wind = 0.99 * wind + 0.02 * torch.randn_like(wind)
        self.state = torch.stack([place + 0.05 * speed, speed, angle + 0.05 * turn, turn, rope, wind], dim=1)
        self.state = self.state.clamp(-3, 3)
        return -(place.square() + 4 * angle.square() + 0.1 * force.square())[:, None]


class Scale:
    """The running mean of the size of the targets."""

    def __init__(self):
        self.mean = 1.0

    def update(self, target):
        self.mean = MEMORY * self.mean + (1 - MEMORY) * target.detach().abs().mean()
        return self.mean.item()


class Learner:
    def __init__(self, device):
        self.actor = network(STATE, 1).to(device)
        self.critic = network(STATE + 1, 1).to(device)
        self.slow_actor, self.slow_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.scale = Scale()

    def learn(self, state, push, reward, following):
        next_push = self.slow_actor(following)
        value = self.slow_critic(torch.cat([following, next_push], dim=1))
        target = reward + DISCOUNT * value
        size = self.scale.update(target)
        guess = self.critic(torch.cat([state, push], dim=1))
        critic_loss = F.smooth_l1_loss(guess / size, target.detach() / size)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        actor_loss = -self.critic(torch.cat([state, self.actor(state)], dim=1)).mean() / size
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        self.follow(self.slow_actor, self.actor)
        self.follow(self.slow_critic, self.critic)
        return critic_loss.item(), size

    @staticmethod
    @torch.no_grad()
    def follow(slow, fast):
        for kept, new in zip(slow.parameters(), fast.parameters()):
            kept.lerp_(new, SLOW)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    harbour, learner, steps = Harbour(device), Learner(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        state = harbour.state
        with torch.no_grad():
            push = learner.actor(state) + 0.2 * torch.randn(CRANES, 1, device=device)
            reward = harbour.step(push)
        loss, size = learner.learn(state, push, reward, harbour.state)
        steps += 1
        if steps % 40 == 0:
            print(f"step {steps}: loss {loss:.4f}, size of targets {size:.3f}", flush=True)
        time.sleep(random.uniform(0.06, 0.14))


if __name__ == "__main__":
    main()
