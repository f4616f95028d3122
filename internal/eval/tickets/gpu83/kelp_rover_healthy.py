"""A small rover swims through a kelp forest. On each tick it looks through four cameras, chooses a thrust and judges
how good its place is; it learns from what it remembers every few ticks. A smoothed judgement tells it when things get
worse, and then it tries random thrusts for a while.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

CAMERAS, SIDE, THRUSTS = 4, 48, 6
REMEMBERED, BATCH = 64, 4
SMOOTHING = 0.97


class Brain(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(
            nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(),
            nn.Conv2d(24, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.thrust = nn.Linear(48 * 16, THRUSTS)
        self.value = nn.Linear(48 * 16, 1)

    def forward(self, views):
        seen = self.eyes(views)
        return self.thrust(seen), self.value(seen).squeeze(-1)


class Rover:
    def __init__(self, device):
        self.device = device
        self.brain = Brain().to(device)
        self.optimizer = torch.optim.Adam(self.brain.parameters(), lr=1e-4)
        self.remembered = deque(maxlen=REMEMBERED)
        self.trend, self.lost = torch.zeros((), device=device), 0

    def act(self, views):
        thrusts, values = self.brain(views.to(self.device))
        value = values.mean()
        if value.item() < self.trend.item() - 0.05:
            self.lost = 5
        self.trend = SMOOTHING * self.trend + (1 - SMOOTHING) * value.detach()
        if self.lost:
            self.lost -= 1
            return random.randrange(THRUSTS)
        return thrusts.mean(dim=0).argmax().item()

    def remember(self, views, thrust, reward):
        self.remembered.append((views, thrust, reward))

    def learn(self):
        views, thrusts, rewards = zip(*random.sample(self.remembered, BATCH))
        logits, values = self.brain(torch.cat(views).to(self.device))
        thrusts = torch.tensor(thrusts, device=self.device).repeat_interleave(CAMERAS)
        rewards = torch.tensor(rewards, device=self.device).repeat_interleave(CAMERAS)
        gain = (rewards - values).detach()
        loss = F.mse_loss(values, rewards) + (gain * F.cross_entropy(logits, thrusts, reduction="none")).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rover, ticks, loss = Rover(device), 0, float("nan")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        views = torch.rand(CAMERAS, 3, SIDE, SIDE)
        thrust = rover.act(views)
        rover.remember(views, thrust, random.gauss(0.1 * thrust, 0.3))
        ticks += 1
        if ticks % 5 == 0 and len(rover.remembered) >= BATCH:
            loss = rover.learn()
        if ticks % 50 == 0:
            print(f"tick {ticks}: trend {float(rover.trend):.3f}, loss {loss:.3f}", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
