"""Ice thickness forecast of an ice rink with two sheets.

Probes frozen into the ice report temperature, brine flow and hall humidity; a small network is trained through the
season to tell the thickness a few hours on. The weights with the lowest validation error so far drive the chiller, and
when training runs off course they are put back.

ticket: practice
class: none
"""
import bisect
import copy
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
PROBES = 48
HIDDEN = 416
VALIDATE_EVERY = 2
PODIUM = 3


class SeasonData:
    """Probe readings of made-up days; thickness follows a hidden law with noise."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.law = torch.randn(PROBES, 1, generator=self.generator) / PROBES ** 0.5
        self.drift = 0.0

    def day(self, hours):
        readings = torch.randn(hours, PROBES, generator=self.generator)
        noise = 0.05 * torch.randn(hours, 1, generator=self.generator)
        self.drift = 0.98 * self.drift + 0.02 * float(torch.randn(1, generator=self.generator))
        thickness = 32.0 + 3.0 * torch.tanh(readings @ self.law + self.drift) + noise
        return readings, thickness


class ThicknessNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(PROBES, HIDDEN),
            nn.Tanh(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.Tanh(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.Tanh(),
            nn.Linear(HIDDEN, 1),
        )

    def forward(self, readings):
        return 32.0 + self.body(readings)


class Podium:
    """Weights in order of their validation error, the best first."""

    def __init__(self, places):
        self.places = places
        self._ranked = []

    def enter(self, error, step, model):
        weights = copy.deepcopy(model.state_dict())
        bisect.insort(self._ranked, (error, step, weights), key=lambda entry: entry[:2])
        del self._ranked[self.places:]

    def best(self):
        return self._ranked[0]

    def average_error(self):
        top = self._ranked[: self.places]
        return sum(error for error, _, _ in top) / max(1, len(top))


class Trainer:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.data = SeasonData(seed + 1)
        self.model = ThicknessNet()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.loss_fn = nn.MSELoss()
        self.podium = Podium(PODIUM)
        self.validation = self.data.day(192)
        self.steps = 0
        self.put_back = 0

    def train_step(self):
        readings, thickness = self.data.day(96)
        loss = self.loss_fn(self.model(readings), thickness)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return float(loss.detach())

    def validate(self):
        readings, thickness = self.validation
        self.model.eval()
        with torch.no_grad():
            error = float(self.loss_fn(self.model(readings), thickness))
        self.model.train()
        self.podium.enter(error, self.steps, self.model)
        if error > 6.0 * self.podium.best()[0] + 0.5:
            self.model.load_state_dict(self.podium.best()[2])
            self.put_back += 1


def main():
    trainer = Trainer(seed=404)
    loss = float("nan")
    start = time.monotonic()
    next_line = 2.0
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        loss = trainer.train_step()
        if trainer.steps % VALIDATE_EVERY == 0:
            trainer.validate()
        if elapsed >= next_line:
            print(f"{elapsed:6.1f}s step {trainer.steps} loss {loss:.4f} "
                  f"podium {trainer.podium.average_error():.4f} put back {trainer.put_back}", flush=True)
            next_line += 2.0
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    error, step, _ = trainer.podium.best()
    print(f"season over after {trainer.steps} steps: best error {error:.4f} at step {step}", flush=True)


if __name__ == "__main__":
    main()
