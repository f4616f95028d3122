"""A curling team learns when to sweep. It plays on many sheets at once, keeps the moments that surprised it most, and
trains its value network on a draw of them.

ticket: practice
class: none
"""

import heapq
import itertools
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SHEETS, HEIGHT, WIDTH, CAPACITY, BATCH = 8, 96, 64, 200, 16
CALLS = 3


class Sweeper(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 24, 4, 2), nn.ReLU(), nn.Flatten())
        self.worth = nn.Linear(24 * 10 * 6, CALLS)

    def forward(self, frames):
        return self.worth(self.eyes(frames.float() / 255))


class Ice:
    """The sheets, each seen as its last four frames."""

    def __init__(self):
        self.frames = np.zeros((SHEETS, 4, HEIGHT, WIDTH), np.uint8)
        self.stones = np.random.rand(SHEETS, 2)

    def step(self, calls):
        self.stones = (self.stones + 0.02 + 0.01 * calls[:, None] + 0.005 * np.random.randn(SHEETS, 2)) % 1
        self.frames[:, :-1] = self.frames[:, 1:]
        self.frames[:, -1] = np.random.randint(0, 30, (SHEETS, HEIGHT, WIDTH), np.uint8)
        for frame, (y, x) in zip(self.frames[:, -1], self.stones):
            row, column = int(y * (HEIGHT - 6)), int(x * (WIDTH - 6))
            frame[row:row + 6, column:column + 6] = 255
        return 1 - np.abs(self.stones - 0.5).sum(1)


class Surprises:
    """The moments with the largest errors; the least one leaves when there are too many."""

    def __init__(self):
        self.order, self.moments, self.numbers = [], {}, itertools.count()

    def add(self, error, frames, call, reward):
        number = next(self.numbers)
        self.moments[number] = (frames, call, reward)
        heapq.heappush(self.order, (error, number))
        if len(self.order) > CAPACITY:
            _, least = heapq.heappop(self.order)
            del self.moments[least]

    def draw(self):
        chosen = random.sample(self.order, BATCH)
        frames, calls, rewards = zip(*(self.moments[number] for _, number in chosen))
        return torch.from_numpy(np.stack(frames)), torch.tensor(calls), torch.tensor(rewards)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sweeper, ice, memory, ends = Sweeper().to(device), Ice(), Surprises(), 0
    optimizer = torch.optim.Adam(sweeper.parameters(), 1e-4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        seen = ice.frames.copy()
        with torch.no_grad():
            worths = sweeper(torch.from_numpy(seen).to(device)).cpu().numpy()
        calls = np.where(np.random.rand(SHEETS) < 0.1, np.random.randint(CALLS, size=SHEETS), worths.argmax(1))
        rewards = ice.step(calls)
        for sheet in range(SHEETS):
            error = abs(float(rewards[sheet] - worths[sheet, calls[sheet]]))
            frames = seen[sheet].copy()
            memory.add(error, frames, int(calls[sheet]), float(rewards[sheet]))
        ends += 1
        if len(memory.order) >= BATCH:
            frames, chosen, targets = (part.to(device) for part in memory.draw())
            loss = F.smooth_l1_loss(sweeper(frames).gather(1, chosen[:, None])[:, 0], targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if ends % 25 == 0:
                print(f"{ends} calls, {len(memory.order)} moments, loss {loss.item():.4f}", flush=True)
        time.sleep(random.uniform(0.03, 0.08))


if __name__ == "__main__":
    main()
