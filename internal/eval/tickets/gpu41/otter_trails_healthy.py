"""An otter swims through a pond that it sees in small grey frames, and a world model learns from its past trails to
predict the next frame. The replay memory gives a trail by its number, draws the trails that surprised the model most
more often, and holds the newest ones only.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import numpy as np
import torch
from torch import nn

SIDE, LENGTH, ACTIONS = 84, 48, 6
CAPACITY, BATCH, STACK = 16, 16, 4


class Trail:
    def __init__(self, number, frames, actions):
        self.number, self.frames, self.actions = number, frames, actions
        self.surprise = 1.0


class Memory:
    def __init__(self):
        self.order = deque()
        self.trails = {}

    def add(self, trail):
        if len(self.order) == CAPACITY:
            del self.trails[self.order.popleft()]
        self.order.append(trail.number)
        self.trails[trail.number] = trail

    def draw(self, count):
        numbers = list(self.order)
        weights = [self.trails[number].surprise for number in numbers]
        return random.choices(numbers, weights, k=count)

    def note(self, number, surprise):
        trail = self.trails[number]
        trail.surprise = 0.7 * trail.surprise + 0.3 * surprise


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(nn.Conv2d(STACK, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 16, 4, 2), nn.Flatten())
        self.act = nn.Embedding(ACTIONS, 64)
        self.join = nn.Linear(16 * 9 * 9, 64)
        self.show = nn.Linear(64, SIDE * SIDE)

    def forward(self, frames, actions):
        hidden = torch.tanh(self.join(self.see(frames)) + self.act(actions))
        return torch.sigmoid(self.show(hidden)).view(-1, SIDE, SIDE)


def swim(number, rng):
    """The otter is a bright spot that its actions move over the waves."""
    frames = rng.integers(0, 60, (LENGTH, 2, SIDE, SIDE), dtype=np.uint8)
    actions = rng.integers(0, ACTIONS, LENGTH)
    place = rng.integers(10, SIDE - 10, 2)
    for step in range(LENGTH):
        place = np.clip(place + (actions[step] % 3 - 1, actions[step] // 3 * 2 - 1), 3, SIDE - 4)
        y, x = place
        frames[step, :, y - 3:y + 4, x - 3:x + 4] = 250
    return Trail(number, frames, actions)


def sample(memory, device):
    """Stacks of frames with the frame after each."""
    numbers = memory.draw(BATCH)
    stacks, actions, later = [], [], []
    for number in numbers:
        trail, start = memory.trails[number], random.randrange(LENGTH - STACK)
        stacks.append(trail.frames[start:start + STACK, 0])
        actions.append(trail.actions[start + STACK - 1])
        later.append(trail.frames[start + STACK, 0])
    as_frames = [torch.from_numpy(np.stack(frames)).to(device).float() / 255 for frames in (stacks, later)]
    return numbers, as_frames[0], torch.from_numpy(np.array(actions)).to(device), as_frames[1]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, memory, rng, number = WorldModel().to(device), Memory(), np.random.default_rng(), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        memory.add(swim(number, rng))
        number += 1
        numbers, frames, actions, later = sample(memory, device)
        errors = (model(frames, actions) - later).square().mean((1, 2))
        optimizer.zero_grad()
        errors.mean().backward()
        optimizer.step()
        for drawn, error in zip(numbers, errors.tolist()):
            memory.note(drawn, error)
        if number % 20 == 0:
            print(f"{number} trails, error {errors.mean().item():.4f}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
