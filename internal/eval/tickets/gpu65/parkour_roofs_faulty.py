"""A network learns to see how a parkour runner fares on a city's roofs: it looks at the heights and estimates the climb
of the best lane. The curriculum makes new roofs in every round, asks the network how hard it finds them, and trains it
on those roofs of the waiting ones that are nearest to the wanted difficulty.

ticket: practice
class: host-growth
holder: waiting Curriculum curriculum
cause: unbounded-queue entries-left
"""

import heapq
import itertools
import os
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SIDE, MADE, TAUGHT, WANTED = 160, 20, 8, 0.3


class Curriculum:
    def __init__(self, rng):
        self.rng = rng
        self.waiting = []
        self.numbers = itertools.count()

    def build(self):
        """Roofs as a map of heights, and the climb of the lane that is easiest to run."""
        blocks = self.rng.random((SIDE // 8, SIDE // 8), dtype=np.float32) * self.rng.uniform(0.2, 2.0)
        heights = np.kron(blocks, np.ones((8, 8), np.float32))  # grows
        climbs = np.abs(np.diff(heights, axis=1)).sum(axis=1)
        return heights, float(climbs.min()) / 10

    def fill(self, estimate):
        roofs = [self.build() for _ in range(MADE)]  # grows
        estimates = estimate(np.stack([heights for heights, _ in roofs]))
        for (heights, climb), guess in zip(roofs, estimates):
            distance = abs(abs(float(guess) - climb) - WANTED)
            heapq.heappush(self.waiting, (distance, next(self.numbers), heights, climb))  # keeps

    def lesson(self):
        chosen = [heapq.heappop(self.waiting) for _ in range(TAUGHT)]
        heights = np.stack([entry[2] for entry in chosen])
        return heights, np.array([entry[3] for entry in chosen], np.float32)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=4),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(256, 1),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    curriculum, rounds, running = Curriculum(np.random.default_rng(8)), 0, 0.0

    @torch.no_grad()
    def estimate(heights):
        return model(torch.from_numpy(heights).unsqueeze(1).to(device)).squeeze(1).cpu().numpy()

    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        curriculum.fill(estimate)
        heights, climbs = curriculum.lesson()
        guesses = model(torch.from_numpy(heights).unsqueeze(1).to(device)).squeeze(1)
        loss = F.smooth_l1_loss(guesses, torch.from_numpy(climbs).to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = 0.9 * running + 0.1 * loss.item()
        rounds += 1
        if rounds % 15 == 0:
            print(f"{rounds} lessons: loss {running:.4f}, hardest climb {climbs.max():.2f}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
