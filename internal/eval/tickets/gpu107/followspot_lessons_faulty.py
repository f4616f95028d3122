"""Lessons for a followspot that finds the singer on an opera stage by itself.

A small network looks at a coarse picture of the stage from the lighting bridge and turns the spot left or
right, up or down. It learns from its own experience by Q-learning: every step of a rehearsal is stored as a
transition, and after each step the network is trained on a few of the latest ones. The rehearsal starts anew
when the singer leaves the circle of light.

ticket: practice
class: app-leak
holder: _steps
cause: buffer-without-bound
"""

import os
import random
import time
from typing import NamedTuple

import torch
from torch import nn

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_A_SECOND = 10
PICTURE = (288, 352)
CAPACITY = 32
MOVES = ((0.0, -0.03), (0.0, 0.03), (-0.03, 0.0), (0.03, 0.0), (0.0, 0.0))


class Transition(NamedTuple):
    picture: torch.Tensor
    move: int
    reward: float
    after: torch.Tensor


class Rehearsal:
    """The stage with a singer who wanders about and a spot that should follow."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        height, width = PICTURE
        self.y = torch.linspace(0.0, 1.0, height, device=DEVICE).unsqueeze(1)
        self.x = torch.linspace(0.0, 1.0, width, device=DEVICE).unsqueeze(0)
        self.restart()

    def restart(self):
        self.singer = [self.dice.uniform(0.3, 0.7), self.dice.uniform(0.3, 0.7)]
        self.spot = list(self.singer)

    def _oval(self, place, sharpness):
        return torch.exp(-((self.y - place[0]) ** 2 + (self.x - place[1]) ** 2) * sharpness)

    def picture(self):
        return torch.stack((self._oval(self.singer, 300.0), self._oval(self.spot, 80.0)))  # grows

    def step(self, move):
        for axis in (0, 1):
            self.spot[axis] = min(1.0, max(0.0, self.spot[axis] + MOVES[move][axis]))
            self.singer[axis] = min(0.95, max(0.05, self.singer[axis] + self.dice.gauss(0.0, 0.02)))
        distance = sum((a - b) ** 2 for a, b in zip(self.singer, self.spot)) ** 0.5
        return 1.0 - 4.0 * distance, distance > 0.35


class Replay:
    """The latest transitions of the rehearsals, to draw lessons from."""

    def __init__(self, capacity, seed):
        self.capacity = capacity
        self.dice = random.Random(seed)
        self._steps = []

    def store(self, transition):
        self._steps.append(transition)  # keeps

    def draw(self, count):
        size = len(self._steps)
        oldest = max(0, size - self.capacity)
        return [self._steps[self.dice.randrange(oldest, size)] for _ in range(min(count, size))]


class Operator:
    """The network that steers the spot, and its training."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.dice = random.Random(seed)
        self.network = nn.Sequential(
            nn.AdaptiveAvgPool2d((12, 16)),
            nn.Flatten(),
            nn.Linear(2 * 12 * 16, 64),
            nn.ReLU(),
            nn.Linear(64, len(MOVES)),
        ).to(DEVICE)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)

    @torch.no_grad()
    def choose(self, picture):
        if self.dice.random() < 0.1:
            return self.dice.randrange(len(MOVES))
        return int(self.network(picture.unsqueeze(0)).argmax())

    def learn(self, lessons):
        before = torch.stack([lesson.picture for lesson in lessons])
        after = torch.stack([lesson.after for lesson in lessons])
        moves = torch.tensor([lesson.move for lesson in lessons], device=DEVICE)
        rewards = torch.tensor([lesson.reward for lesson in lessons], device=DEVICE)
        with torch.no_grad():
            target = rewards + 0.9 * self.network(after).max(dim=1).values
        value = self.network(before).gather(1, moves.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    rehearsal, replay, operator = Rehearsal(seed=1853), Replay(CAPACITY, seed=3), Operator(seed=5)
    picture = rehearsal.picture()
    steps, restarts = 0, 0
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        move = operator.choose(picture)
        reward, lost = rehearsal.step(move)
        after = rehearsal.picture()
        replay.store(Transition(picture, move, reward, after))
        loss = operator.learn(replay.draw(6))
        if lost:
            restarts += 1
            rehearsal.restart()
            after = rehearsal.picture()
        picture = after
        steps += 1
        if steps % 25 == 0:
            print(f"step {steps}: loss {loss:.4f}, reward {reward:.2f}, {restarts} restarts", flush=True)
        time.sleep(1.0 / STEPS_A_SECOND)
    print(f"lesson over after {steps} steps and {restarts} restarts", flush=True)


if __name__ == "__main__":
    main()
