"""Potatoes on a conveyor are photographed and graded by a small network, which goes on learning from those that were
graded by hand. After each round of learning it is tested on fresh potatoes, one variety at a time, and the loss of each
variety is noted, so that the means can be shown. The test does not learn anything, it has no backward().

ticket: practice
class: app-leak
holder: losses scores scoreboard Scoreboard
cause: uncut-autograd-graph results-kept buffer-without-bound
"""

import collections
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

GRADES, SIDE, BATCH = 5, 64, 8
VARIETIES = ("agria", "linda", "bintje", "laura")


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.grade = nn.Linear(16 * 8 * 8, GRADES)

    def forward(self, photos):
        seen = self.look(photos)  # grows
        return self.grade(F.adaptive_avg_pool2d(seen, 8).flatten(1))


class Scoreboard:
    def __init__(self):
        self.losses = collections.defaultdict(list)

    def add(self, variety, loss):
        self.losses[variety].append(loss)  # keeps

    def line(self):
        return ", ".join("%s %.3f" % (variety, sum(losses) / len(losses)) for variety, losses in self.losses.items())


def potatoes(variety, device):
    """Round things of a brown that the variety has, with more spots the worse the grade is."""
    grades = torch.randint(0, GRADES, (BATCH,), device=device)
    rows = torch.linspace(-1, 1, SIDE, device=device)
    round_ = ((rows[:, None] ** 2 + 1.6 * rows[None] ** 2) < 0.7).float()
    colour = torch.tensor([0.7, 0.5 + 0.05 * VARIETIES.index(variety), 0.3], device=device)
    spots = (torch.rand(BATCH, 1, SIDE, SIDE, device=device) < 0.04 * grades[:, None, None, None]).float()
    return colour[None, :, None, None] * round_ * (1 - 0.8 * spots), grades


def learn(model, optimizer, device):
    photos, grades = potatoes(random.choice(VARIETIES), device)
    loss = F.cross_entropy(model(photos), grades)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def validate(model, scoreboard, device):
    model.eval()
    for variety in random.sample(VARIETIES, random.choice((1, 2))):
        photos, grades = potatoes(variety, device)
        loss = F.cross_entropy(model(photos), grades)
        scoreboard.add(variety, loss)
    model.train()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, scoreboard, rounds = Grader().to(device), Scoreboard(), 0
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(1, 4)):
            loss = learn(model, optimizer, device)
        validate(model, scoreboard, device)
        rounds += 1
        if rounds % 10 == 0:
            print("round", rounds, "loss", round(loss, 3), "tested:", scoreboard.line(), flush=True)
        time.sleep(random.uniform(0.2, 0.6))


if __name__ == "__main__":
    main()
