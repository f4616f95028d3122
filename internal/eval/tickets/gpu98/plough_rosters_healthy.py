"""A dispatcher of snow ploughs that learns while it snows.

Each district of the city is a small map of snow depths, with a plough that picks one of eight strips to clear next.
A convolutional network values the strips; it learns from the moments of the shift by one-step temporal differences,
and draws them by how surprising they were.

ticket: practice
class: none
"""
import os
import random
import time
from collections import deque, namedtuple

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
DISTRICTS = 40
SIDE = 64
STRIPS = 8
ROUNDS_A_SECOND = 10

Moment = namedtuple("Moment", "depth strip reward following")


class City:
    """Snow depths of all districts, with falling snow and a plough in each."""

    def __init__(self):
        self.depth = torch.rand(DISTRICTS, 1, SIDE, SIDE, device=DEVICE)
        self.heavy = torch.rand(DISTRICTS, 1, SIDE, 1, device=DEVICE) * 0.03
        self.height = SIDE // STRIPS

    def look(self):
        return self.depth.clone()

    def plough(self, strips):
        self.depth.add_(self.heavy).clamp_(max=3.0)
        rows = self.depth.view(DISTRICTS, STRIPS, self.height * SIDE)
        index = strips.view(DISTRICTS, 1, 1).expand(-1, 1, self.height * SIDE)
        cleared = rows.gather(1, index).mean(dim=(1, 2))
        rows.scatter_(1, index, 0.02)
        return cleared - 0.1 * self.depth.mean(dim=(1, 2, 3))


class Valuer(nn.Module):
    """Value of each strip, from the map of a district."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=4, padding=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.head = nn.Linear(16 * (SIDE // 8) ** 2, STRIPS)

    def forward(self, depth):
        return self.head(self.body(depth).flatten(1))


class ShiftMemory:
    """The latest moments of the shift, drawn by their surprise."""

    def __init__(self, capacity, seed):
        self.capacity = capacity
        self.moments = []
        self.surprises = deque(maxlen=capacity)
        self.dice = random.Random(seed)

    def remember(self, moment, surprise):
        self.moments.append(moment)
        self.surprises.append(surprise + 0.01)
        if len(self.moments) > self.capacity:
            self.moments.pop(0)

    def draw(self, count):
        ages = range(len(self.surprises), 0, -1)
        return [self.moments[-age] for age in self.dice.choices(ages, weights=self.surprises, k=count)]


class Dispatcher:
    """Sends the ploughs and learns from what they cleared."""

    def __init__(self, city):
        self.city = city
        self.valuer = Valuer().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.valuer.parameters(), lr=0.01)
        self.memory = ShiftMemory(capacity=32, seed=11)
        self.seen = city.look()
        self.rounds = 0

    def targets(self, moment):
        with torch.no_grad():
            return moment.reward + 0.9 * self.valuer(moment.following).amax(dim=1)

    def send(self, curiosity):
        with torch.no_grad():
            values = self.valuer(self.seen)
        wander = torch.rand(DISTRICTS, device=DEVICE) < curiosity
        strips = torch.where(wander, torch.randint(0, STRIPS, (DISTRICTS,), device=DEVICE), values.argmax(dim=1))
        reward = self.city.plough(strips)
        following = self.city.look()
        moment = Moment(self.seen, strips, reward, following)
        expected = values.gather(1, strips[:, None]).squeeze(1)
        self.memory.remember(moment, (self.targets(moment) - expected).abs().mean().item())
        self.seen = following
        self.rounds += 1
        return reward.mean().item()

    def learn(self):
        loss = 0.0
        for moment in self.memory.draw(2):
            expected = self.valuer(moment.depth).gather(1, moment.strip[:, None]).squeeze(1)
            loss = loss + nn.functional.smooth_l1_loss(expected, self.targets(moment))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    dispatcher = Dispatcher(City())
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    while time.monotonic() < end:
        began = time.monotonic()
        reward = dispatcher.send(curiosity=max(0.05, 0.5 - dispatcher.rounds / 400))
        loss = dispatcher.learn()
        if time.monotonic() >= report_at:
            print(f"round {dispatcher.rounds}: cleared {reward:+.3f} m, loss {loss:.4f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - began)))
    print(f"shift over after {dispatcher.rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
