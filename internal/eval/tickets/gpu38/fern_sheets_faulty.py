"""Two networks learn from scanned fern sheets without labels: the student sees one crop of a sheet, the teacher
another, and the student must say what the teacher says. The teacher follows the student slowly. Its answers are
centred by their running mean, so that it does not give the same answer to all.

ticket: practice
class: app-leak
holder: centre Distiller
cause: uncut-autograd-graph
"""

import copy
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, PATCH, WIDTH, OUT, BATCH = 64, 8, 128, 512, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.Conv1d(WIDTH, WIDTH, 7, padding=3, groups=WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.mix(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.narrow(F.gelu(self.widen(y)))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(WIDTH, OUT)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        return self.head(self.blocks(tokens).mean(dim=1))


class Distiller:
    def __init__(self, device):
        self.student = Encoder().to(device)
        self.teacher = copy.deepcopy(self.student)
        self.centre = torch.zeros(OUT, device=device)
        self.optimizer = torch.optim.AdamW(self.student.parameters(), 3e-4)

    def step(self, one, two):
        answer = self.teacher(two)  # grows
        target = F.softmax((answer - self.centre) / 0.04, dim=-1).detach()
        loss = -(target * F.log_softmax(self.student(one) / 0.1, dim=-1)).sum(dim=-1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.centre = 0.9 * self.centre + 0.1 * answer.mean(dim=0)  # keeps
        self.follow()
        return loss.item()

    @torch.no_grad()
    def follow(self, momentum=0.99):
        for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
            slow.mul_(momentum).add_(fast, alpha=1 - momentum)


def crop(sheets):
    """The same square of each sheet, at a random place, now and then mirrored."""
    top, left = (random.randrange(sheets.shape[-1] - SIDE) for _ in range(2))
    cut = sheets[..., top : top + SIDE, left : left + SIDE]
    return cut.flip(-1) if random.random() < 0.5 else cut


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    distiller, steps, mean = Distiller(device), 0, None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sheets = torch.rand(BATCH, 3, 96, 96).to(device)
        loss = distiller.step(crop(sheets), crop(sheets))
        mean = loss if mean is None else 0.95 * mean + 0.05 * loss
        steps += 1
        if steps % 25 == 0:
            print(f"step {steps}: loss {mean:.3f}, centre {distiller.centre.norm().item():.3f}", flush=True)
        time.sleep(random.uniform(0.06, 0.14))


if __name__ == "__main__":
    main()
