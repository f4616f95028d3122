"""Learns to tell the spores of ferns apart without labels. A student sees one crop of a picture and guesses what its
teacher says of another crop; the teacher follows the student slowly, and its answers are centred so that they do not
all become the same.

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

BATCH, SIDE, CROP, OUT = 32, 48, 32, 256
FOLLOW, CENTRE = 0.99, 0.9
WARM, COLD = 0.1, 0.04


def make_network():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.GroupNorm(4, 16),
        nn.GELU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.GroupNorm(4, 32),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, OUT),
    )


def crops(pictures):
    """Two crops of each picture, one of them turned over."""
    pair = []
    for _ in range(2):
        top, left = random.randrange(SIDE - CROP), random.randrange(SIDE - CROP)
        pair.append(pictures[:, :, top : top + CROP, left : left + CROP])
    return pair[0].contiguous(), pair[1].flip(-1)


class Distiller:
    def __init__(self, device):
        self.student = make_network().to(device)
        self.teacher = copy.deepcopy(self.student)
        self.centre = torch.zeros(OUT, device=device)
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=5e-4)

    def step(self, pictures):
        mine, other = crops(pictures)
        guesses = F.log_softmax(self.student(mine) / WARM, dim=-1)
        answers = self.teacher(other)
        targets = F.softmax((answers - self.centre) / COLD, dim=-1).detach()
        loss = -(targets * guesses).sum(dim=-1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.centre = CENTRE * self.centre + (1 - CENTRE) * answers.detach().mean(dim=0)
        self.follow()
        return loss.item()

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
            slow.mul_(FOLLOW).add_(fast, alpha=1 - FOLLOW)


def spores(device):
    """Pictures of round spores on a noisy slide."""
    places = torch.linspace(-1, 1, SIDE, device=device)
    wide = torch.rand(BATCH, 1, 1, 1, device=device) + 0.2
    round_ = torch.exp(-(places[:, None] ** 2 + places**2) / wide)
    tint = torch.rand(BATCH, 3, 1, 1, device=device)
    return round_ * tint + 0.05 * torch.randn(BATCH, 3, SIDE, SIDE, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    distiller, step, mean = Distiller(device), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = distiller.step(spores(device))
        step += 1
        mean = loss if step == 1 else 0.95 * mean + 0.05 * loss
        if step % 40 == 0:
            print(f"step {step}: loss {mean:.3f}, centre up to {distiller.centre.max().item():.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
