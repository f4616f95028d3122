"""The worth of positions on many boards is learnt by temporal differences with eligibility traces. The gradients that
go into the traces carry their own graphs, and the traces, which never end, so carry those of all the moves before.

ticket: practice
class: app-leak
holder: traces
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn


class Boards:
    """Stones that wander on boards; who has more in the middle is ahead."""

    def __init__(self, number, device):
        self.stones = torch.randint(-1, 2, (number, 64), device=device).float()
        middle = torch.zeros(8, 8, device=device)
        middle[2:6, 2:6] = 1
        self.middle = middle.flatten()

    def move(self):
        at = torch.randint(64, (len(self.stones), 2), device=self.stones.device)
        rows = torch.arange(len(self.stones), device=self.stones.device)[:, None]
        stones = self.stones.clone()
        stones[rows, at] = self.stones[rows, at.flip(1)]
        self.stones = stones
        return torch.tanh(stones @ self.middle / 4)


class Learner:
    """TD(lambda) with accumulating traces."""

    def __init__(self, device, rate=0.01, fade=0.9):
        self.value = nn.Sequential(nn.Linear(64, 400), nn.Tanh(), nn.Linear(400, 400), nn.Tanh(), nn.Linear(400, 1))
        self.value.to(device)
        self.weights = list(self.value.parameters())
        self.traces = [torch.zeros_like(w) for w in self.weights]
        self.rate, self.fade = rate, fade

    def learn(self, before, reward, after):
        worth = self.value(before).squeeze(-1)
        with torch.no_grad():
            surprise = (0.1 * reward + 0.9 * self.value(after).squeeze(-1) - worth).mean()
        slopes = torch.autograd.grad(worth.mean(), self.weights, create_graph=True)  # grows
        self.traces = [self.fade * t + s for t, s in zip(self.traces, slopes)]  # keeps
        with torch.no_grad():
            for weight, trace in zip(self.weights, self.traces):
                weight += self.rate * surprise * trace
            size = sum(trace.square().sum() for trace in self.traces).sqrt()
        return surprise, size


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    boards, learner, moves = Boards(384, device), Learner(device), 0
    while time.time() < end:
        for _ in range(random.randint(4, 12)):
            before = boards.stones
            reward = boards.move()
            surprise, size = learner.learn(before, reward, boards.stones)
            moves += 1
            time.sleep(0.12)
        if random.random() < 0.3:
            with torch.no_grad():
                error = (learner.value(boards.stones).squeeze(-1) - torch.tanh(boards.stones @ boards.middle / 4))
            print(moves, "moves, surprise", round(float(surprise), 4), "traces", round(float(size), 3),
                  "error", round(float(error.abs().mean()), 3), flush=True)


if __name__ == "__main__":
    main()
