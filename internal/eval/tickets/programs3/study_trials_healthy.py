"""A search tries networks of any width. The weights of the best so far are kept beside the study, whose trials
are kept in memory without theirs.

ticket: optuna/optuna#1178
class: none
"""

import dataclasses
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("study")


@dataclasses.dataclass
class Trial:
    number: int
    width: int
    rate: float
    value: float = float("inf")
    user_attrs: dict = dataclasses.field(default_factory=dict)

    def set_user_attr(self, name, value):
        self.user_attrs[name] = value


class Study:
    def __init__(self):
        self.trials = []

    def ask(self):
        best = self.best()
        width = random.choice([128, 192, 256, 320, 384])
        if best and random.random() < 0.5:
            width = best.width
        trial = Trial(len(self.trials), width, 10 ** random.uniform(-4, -2))
        self.trials.append(trial)
        return trial

    def best(self):
        return min(self.trials, key=lambda trial: trial.value, default=None)

    def optimize(self, objective, end):
        while time.time() < end:
            trial = self.ask()
            trial.value = objective(trial)
            log.info("trial %d: width %d, %.4f, best %.4f", trial.number, trial.width, trial.value,
                     self.best().value)


class Objective:
    def __init__(self):
        self.best, self.weights = float("inf"), None
        self.x = torch.randn(512, 64)
        self.y = torch.sin(self.x.sum(1, keepdim=True))

    def network(self, width):
        return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 3 * width), nn.ReLU(),
                             nn.Linear(3 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def __call__(self, trial):
        model = self.network(trial.width)
        optimizer = torch.optim.Adam(model.parameters(), lr=trial.rate)
        for _ in range(random.randint(8, 25)):
            rows = torch.randint(0, 512, (64,))
            loss = (model(self.x[rows]) - self.y[rows]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.01)
        with torch.no_grad():
            value = (model(self.x) - self.y).square().mean().item()
        if value < self.best:
            self.best, self.weights = value, model.state_dict()
        trial.set_user_attr("parameters", sum(p.numel() for p in model.parameters()))
        return value


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    study = Study()
    study.optimize(Objective(), time.time() + float(os.environ.get("SECONDS", "45")))
    print(len(study.trials), study.best().value)


if __name__ == "__main__":
    main()
