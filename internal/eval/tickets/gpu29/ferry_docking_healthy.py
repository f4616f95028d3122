"""A ferry learns to dock in side wind. Sixty-four ferries sail at once, their moves go into a ring of transitions, and
a critic learns from that by Q-learning with a slowly following target. The size of the goals varies much with the
weather, so the critic learns them divided by a running scale, as PopArt does it.

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

FERRIES, RING, BATCH, GAMMA = 64, 20_000, 512, 0.98
RUDDERS = torch.tensor([-0.4, -0.1, 0.0, 0.1, 0.4])


class Harbour:
    """Ferries with place, heading, speed and the wind, all as rows of one tensor."""

    def __init__(self, device):
        self.rudders = RUDDERS.to(device)
        self.ferries = torch.randn(FERRIES, 6, device=device)

    def sail(self, actions):
        before = self.ferries.clone()
        x, y, heading, speed, wind, _ = before.unbind(1)
        heading = heading + self.rudders[actions] + 0.02 * wind
        speed = 0.95 * speed + 0.05
        x, y = x + speed * heading.cos() * 0.1, y + (speed * heading.sin() + 0.1 * wind) * 0.1
        wind = 0.97 * wind + 0.1 * torch.randn_like(wind)
        distance = (x.square() + y.square()).sqrt()
        self.ferries = torch.stack([x, y, heading, speed, wind, distance], dim=1)
        docked = (distance < 0.1) | (distance > 4)
        rewards = torch.where(distance < 0.1, torch.full_like(distance, 10.0), -distance)
        self.ferries[docked] = torch.randn_like(self.ferries)[docked]
        return before, rewards


class Ring:
    def __init__(self, device):
        self.states = torch.zeros(RING, 6, device=device)
        self.following = torch.zeros(RING, 6, device=device)
        self.actions = torch.zeros(RING, dtype=torch.long, device=device)
        self.rewards = torch.zeros(RING, device=device)
        self.added = 0

    def add(self, states, actions, rewards, following):
        places = torch.arange(self.added, self.added + len(states), device=states.device) % RING
        self.states[places], self.following[places] = states, following
        self.actions[places], self.rewards[places] = actions, rewards
        self.added += len(states)

    def sample(self):
        chosen = torch.randint(min(self.added, RING), (BATCH,), device=self.states.device)
        return [column[chosen] for column in (self.states, self.actions, self.rewards, self.following)]


class Learner:
    def __init__(self, device):
        self.critic = nn.Sequential(
            nn.Linear(6, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, len(RUDDERS))
        ).to(device)
        self.target = copy.deepcopy(self.critic)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.scale = torch.ones((), device=device)

    @torch.no_grad()
    def choose(self, ferries):
        actions = self.critic(ferries).argmax(dim=1)
        return torch.where(torch.rand_like(ferries[:, 0]) < 0.1, torch.randint_like(actions, len(RUDDERS)), actions)

    def learn(self, states, actions, rewards, following):
        with torch.no_grad():
            best = self.target(following).max(dim=1).values
            goals = rewards + GAMMA * best * self.scale
            self.scale = 0.99 * self.scale + 0.01 * goals.abs().mean()
        values = self.critic(states).gather(1, actions[:, None])[:, 0]
        loss = F.smooth_l1_loss(values, goals / self.scale)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for slow, fast in zip(self.target.parameters(), self.critic.parameters()):
            slow.data.lerp_(fast.data, 0.01)
        return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    harbour, ring, learner, steps = Harbour(device), Ring(device), Learner(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(8):
            states, rewards = harbour.sail(actions := learner.choose(harbour.ferries))
            ring.add(states, actions, rewards, harbour.ferries)
        loss = learner.learn(*ring.sample())
        steps += 1
        if steps % 25 == 0:
            print(f"{steps}: loss {loss:.4f}, goals of about {learner.scale.item():.2f}", flush=True)
        time.sleep(random.uniform(0.02, 0.12))


if __name__ == "__main__":
    main()
