"""Learns what the wings of moths look like without any labels, by self-distillation: a student sees one view of a
picture, and is to say what its teacher says of another view. The teacher follows the student slowly, and its answers
are centred by their running mean, so that they do not all become the same.

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

SIZE, BATCH, PROTOTYPES = 32, 32, 256


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(3, 24, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Linear(48 * (SIZE // 4) ** 2, 128), nn.GELU(), nn.Linear(128, PROTOTYPES))

    def forward(self, pictures):
        return self.head(self.trunk(pictures))


class Distillation:
    def __init__(self, student, momentum=0.99, sharpness=0.05, pace=0.1):
        self.student = student
        self.teacher = copy.deepcopy(student)
        self.centre = torch.zeros(PROTOTYPES)
        self.momentum, self.sharpness, self.pace = momentum, sharpness, pace

    def loss(self, view, other):
        answers = self.teacher(other)
        targets = F.softmax((answers - self.centre) / self.sharpness, dim=-1).detach()
        self.centre = (1 - self.pace) * self.centre + self.pace * answers.detach().mean(dim=0)
        guesses = F.log_softmax(self.student(view) / 0.1, dim=-1)
        return -(targets * guesses).sum(dim=-1).mean()

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
            slow.lerp_(fast, 1 - self.momentum)


def moths(number):
    """Pictures of wings: two blurred eyespots on a ground of some colour."""
    across = torch.linspace(-1, 1, SIZE)
    spots = torch.rand(number, 1, 1) * 0.4 + 0.2
    distance = (across.abs() - spots).square() + across[:, None].square()
    ground = torch.rand(number, 3, 1, 1)
    return ground + torch.exp(-12 * distance)[:, None] * (1 - ground)


def view(pictures):
    """A random view: shifted, perhaps mirrored, with some noise."""
    shifts = random.randint(-4, 4), random.randint(-4, 4)
    pictures = pictures.roll(shifts, dims=(2, 3))
    if random.random() < 0.5:
        pictures = pictures.flip(3)
    return pictures + 0.1 * torch.randn_like(pictures)


def main():
    torch.set_num_threads(1)
    distillation, steps = Distillation(Encoder()), 0
    optimizer = torch.optim.AdamW(distillation.student.parameters(), lr=3e-4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pictures = moths(BATCH)
        loss = distillation.loss(view(pictures), view(pictures))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        distillation.follow()
        steps += 1
        if steps % 20 == 0:
            print(f"step {steps}: loss {loss.item():.3f}, centre {distillation.centre.norm().item():.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
