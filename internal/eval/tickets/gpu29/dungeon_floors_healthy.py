"""An agent goes down a dungeon, floor by floor. Each floor has other doors and levers, hence other actions, so the
agent gets a fresh head for it, while the trunk, which reads the torchlit rooms, learns on through all floors. A floor
is left when it has been practised enough, and nobody comes back to it.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.distributions import Categorical

ROOM, WIDTH, EXPLORERS = 96, 384, 128


class Floor:
    """Rooms behind rooms: an action is good if it fits the hidden plan of the floor."""

    def __init__(self, device):
        self.actions = random.randint(40, 60)
        self.plan = torch.randn(ROOM, self.actions, device=device)
        self.rooms = torch.randn(EXPLORERS, ROOM, device=device)

    def act(self, actions):
        rewards = (self.rooms @ self.plan).gather(1, actions[:, None])[:, 0] / ROOM**0.5
        self.rooms = 0.8 * self.rooms + 0.6 * torch.randn_like(self.rooms)
        return rewards


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(ROOM, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.head = None

    def enter(self, floor, device):
        head = nn.Sequential(nn.Linear(WIDTH, 768), nn.ReLU(), nn.Linear(768, floor.actions))
        self.head = head.to(device)
        return self.head.parameters()

    def forward(self, rooms):
        return Categorical(logits=self.head(self.trunk(rooms)))


class Trainer:
    def __init__(self, agent, device):
        self.agent, self.device = agent, device
        self.optimizer = torch.optim.Adam(agent.trunk.parameters(), lr=3e-4)
        self.head_optimizer = None

    def start(self, floor):
        fresh = self.agent.enter(floor, self.device)
        self.head_optimizer = torch.optim.Adam(fresh, lr=1e-3)

    def practise(self, floor):
        choice = self.agent(floor.rooms)
        actions = choice.sample()
        rewards = floor.act(actions)
        advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        loss = -(choice.log_prob(actions) * advantage).mean() - 0.01 * choice.entropy().mean()
        self.optimizer.zero_grad(set_to_none=True)
        self.head_optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), 1.0)
        self.optimizer.step()
        self.head_optimizer.step()
        return rewards.mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    agent = Agent().to(device)
    trainer, floors = Trainer(agent, device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        floor = Floor(device)
        trainer.start(floor)
        rewards = []
        for _ in range(random.randint(8, 14)):
            rewards.append(trainer.practise(floor))
            time.sleep(random.uniform(0.02, 0.05))
        floors += 1
        if floors % 5 == 0:
            print(f"floor {floors}: from {rewards[0]:.2f} to {rewards[-1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
