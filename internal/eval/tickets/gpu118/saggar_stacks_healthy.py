"""Firing study of saggar stacks in a chamber kiln for stoneware.

A small network learns how burner settings turn into the temperature of every
measuring point in a stack of saggars. After each training step a fresh set of firings is
predicted, and every two seconds the study tells how well the stacks were met.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
REPORT_EVERY = 20
BURNERS = 12
POINTS = 2048
FIRINGS = 64


class Chamber:
    """The chamber itself: a fixed, smooth response of the points to the burners."""

    def __init__(self, seed):
        self._random = torch.Generator().manual_seed(seed)
        height = torch.linspace(0.0, 1.0, POINTS).unsqueeze(0)
        mouth = torch.rand(BURNERS, 1, generator=self._random)
        self.reach = torch.exp(-((height - mouth) ** 2) / 0.05).to(DEVICE)
        self.base = 20.0

    def settings(self, firings):
        return torch.rand(firings, BURNERS, generator=self._random).to(DEVICE)

    def fire(self, settings):
        heat = settings @ self.reach
        return self.base + 1200.0 * torch.tanh(heat / 4.0)


class StackModel(nn.Module):
    """Burner settings in, temperature of each point out."""

    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(BURNERS, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.head = nn.Linear(width, POINTS)

    def forward(self, settings):
        return 600.0 + 400.0 * self.head(self.body(settings))


@dataclass
class Firing:
    round: int
    rmse: float
    deviation: torch.Tensor


class FiringBook:
    """Takes the trial firings down and sums them up for the report."""

    def __init__(self):
        self.firings = []
        self.coldest = None

    def enter(self, number, deviation):
        rmse = deviation.square().mean().sqrt().item()
        self.firings.append(Firing(number, rmse, deviation))

    def digest(self):
        fresh, self.firings = self.firings, []
        worst = max(fresh, key=lambda firing: firing.rmse)
        by_point = torch.stack([firing.deviation.mean(dim=0) for firing in fresh]).mean(dim=0)
        low = by_point.argmin().item()
        self.coldest = low if self.coldest is None else min(self.coldest, low)
        return sum(firing.rmse for firing in fresh) / len(fresh), worst.round, low


class Study:
    def __init__(self):
        torch.manual_seed(11)
        self.chamber = Chamber(seed=5)
        self.model = StackModel().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.book = FiringBook()

    def learn(self):
        settings = self.chamber.settings(FIRINGS * 2)
        loss = nn.functional.smooth_l1_loss(self.model(settings), self.chamber.fire(settings))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def trial(self, number):
        settings = self.chamber.settings(FIRINGS)
        deviation = self.model(settings) - self.chamber.fire(settings)
        self.book.enter(number, deviation)


def main():
    torch.set_num_threads(1)
    study = Study()
    end = time.monotonic() + SECONDS
    number = 0
    due = time.monotonic()
    while time.monotonic() < end:
        number += 1
        loss = study.learn()
        study.trial(number)
        if number % REPORT_EVERY == 0:
            mean, worst, low = study.book.digest()
            print(f"round {number}: loss {loss:.1f}, rmse {mean:.1f} K, worst firing {worst}, cold point {low}",
                  flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"study over after {number} rounds, lowest cold point {study.book.coldest}", flush=True)


if __name__ == "__main__":
    main()
