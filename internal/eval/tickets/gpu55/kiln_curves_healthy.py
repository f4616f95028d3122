"""A forecaster of temperatures is trained on the firings of several kilns. It trains most on the kilns that it finds
hard: before each lesson one kiln is probed with a fresh firing, and a running mean of its loss is its difficulty.

ticket: practice
class: none
"""

import math
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

KILNS = {}


@dataclass(frozen=True)
class Firing:
    batch: int = 32
    steps: int = 48
    sensors: int = 8


class Kiln:
    rise, noise = 1.0, 0.05

    def __init_subclass__(cls):
        KILNS[cls.__name__.lower()] = cls

    def fire(self, firing, device):
        hours = torch.linspace(0, 3, firing.steps + 1, device=device)[None, :, None]
        starts = torch.rand(firing.batch, 1, firing.sensors, device=device)
        curve = starts + self.rise * (1 - torch.exp(-hours)) + self.noise * torch.randn_like(starts + hours)
        return curve[:, :-1], curve[:, 1:]


class Raku(Kiln):
    rise, noise = 3.0, 0.2


class Anagama(Kiln):
    rise, noise = 1.5, 0.4


class Forecaster(nn.Module):
    def __init__(self, firing):
        super().__init__()
        self.memory = nn.GRU(firing.sensors, 96, num_layers=2, batch_first=True)
        self.next = nn.Linear(96, firing.sensors)

    def loss(self, before, after):
        hidden, _ = self.memory(before)
        return F.smooth_l1_loss(self.next(hidden), after)


class Difficulty:
    def __init__(self, decay=0.9):
        self.decay, self.levels = decay, {}

    def update(self, name, loss):
        level = self.levels.get(name)
        mean = loss if level is None else self.decay * level + (1 - self.decay) * loss
        self.levels[name] = mean.detach()

    def weights(self, names):
        return [math.exp(float(self.levels[name])) if name in self.levels else 2.0 for name in names]


class Curriculum:
    def __init__(self, model, firing, device):
        self.model, self.firing, self.device = model, firing, device
        self.kilns, self.difficulty = {name: cls() for name, cls in KILNS.items()}, Difficulty()

    def _loss(self, name):
        return self.model.loss(*self.kilns[name].fire(self.firing, self.device))

    def probe(self, name):
        self.difficulty.update(name, self._loss(name))

    def lesson(self):
        [name] = random.choices(list(self.kilns), self.difficulty.weights(self.kilns))
        return name, self._loss(name)


def main():
    torch.set_num_threads(1)
    device, firing, lessons = "cuda" if torch.cuda.is_available() else "cpu", Firing(), 0
    model = Forecaster(firing).to(device)
    optimizer, curriculum = torch.optim.Adam(model.parameters(), lr=1e-3), Curriculum(model, firing, device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        curriculum.probe(random.choice(list(KILNS)))
        name, loss = curriculum.lesson()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lessons += 1
        if lessons % 20 == 0:
            print(f"lesson {lessons} on {name}: {loss.item():.4f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
