"""Pictures of leaves are made and classified. There are two streams of batches: the training reads one,
and the report looks at a batch of the other now and then.

ticket: practice
class: none
"""

import itertools
import os
import random
import time

import torch
from torch import nn


class Leaves:
    """Batches of pictures of leaves of eight kinds, without an end."""

    def __init__(self, device, size=80):
        line = torch.linspace(-1, 1, size, device=device)
        self.y, self.x = torch.meshgrid(line, line, indexing="ij")
        self.device = device

    def __iter__(self):
        while True:
            kinds = torch.randint(8, (random.choice((24, 32, 40)),), device=self.device)
            turn = torch.rand(len(kinds), 1, 1, device=self.device) * 6.3
            angle = torch.atan2(self.y, self.x) + turn
            edge = 0.5 + 0.3 * torch.cos(angle * (kinds[:, None, None] + 2))
            inside = torch.sigmoid(20 * (edge - torch.hypot(self.x, self.y)))
            pictures = inside[:, None] * torch.rand(len(kinds), 3, 1, 1, device=self.device)
            yield pictures + 0.1 * torch.randn_like(pictures), kinds


class Course:
    """The training of a classifier, and the report on it."""

    def __init__(self, device):
        self.for_training, self.for_report = iter(Leaves(device)), iter(Leaves(device))
        self.model = nn.Sequential(
            nn.Conv2d(3, 12, 5, stride=2), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 8),
        ).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)

    def step(self):
        pictures, kinds = next(self.for_training)
        loss = nn.functional.cross_entropy(self.model(pictures), kinds)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def report(self):
        pictures, kinds = next(self.for_report)
        self.model.eval()
        right = (self.model(pictures).argmax(1) == kinds).float().mean()
        self.model.train()
        return float(right)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    course = Course(device)
    for step in itertools.count(1):
        loss = course.step()
        if step % 25 == 0:
            print("step", step, "loss", round(float(loss), 3), "right", round(course.report(), 3), flush=True)
        if time.time() > end:
            break
        time.sleep(random.uniform(0.05, 0.11))


if __name__ == "__main__":
    main()
