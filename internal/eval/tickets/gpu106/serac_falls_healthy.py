"""Early warning of falling seracs above a climbing route.

A small convolutional network reads tilt maps of an ice cliff, taken by an interferometer across the valley, and
says for each cell how likely it is to break off within the hour. It is trained on synthetic cliffs; every few
steps it is evaluated on a fixed set of cliffs, with a calibration table over all cells of the set.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CELLS = 64
BATCH = 16
CHECK_BATCHES = 8
CHECK_EVERY = 3
ROUNDS_A_SECOND = 9.0


@dataclass
class Evaluation:
    step: int
    loss: float
    recall: float
    calibration: list


class CliffSurvey:
    """Synthetic ice cliffs: tilt, tilt rate and temperature, with the cells that fell."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def batch(self):
        noise = torch.randn(BATCH, 3, CELLS, CELLS, generator=self.generator)
        maps = F.avg_pool2d(noise, 5, stride=1, padding=2) * 4.0
        lean = maps[:, 0] + 0.7 * maps[:, 1] - 0.3 * maps[:, 2]
        fell = (lean > 0.9).float().unsqueeze(1)
        return maps.to(DEVICE), fell.to(DEVICE)


class BreakNet(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.read = nn.Conv2d(3, width, 5, padding=2)
        self.mix = nn.Conv2d(width, width, 3, padding=1)
        self.tell = nn.Conv2d(width, 1, 1)

    def forward(self, maps):
        hidden = F.silu(self.read(maps))
        hidden = F.silu(self.mix(hidden))
        return self.tell(hidden)


class Evaluator:
    """Goes over the check set and sums up how far the stated chances can be trusted."""

    def __init__(self, survey):
        self.batches = [survey.batch() for _ in range(CHECK_BATCHES)]
        self.truth = torch.cat([fell for _, fell in self.batches])
        self.predictions = []

    def calibration(self, chances):
        table = []
        for low in (0.0, 0.25, 0.5, 0.75):
            chosen = (chances >= low) & (chances < low + 0.25)
            share = self.truth[chosen].mean() if chosen.any() else torch.zeros(())
            table.append(round(float(share), 3))
        return table

    @torch.no_grad()
    def evaluate(self, model, step):
        model.eval()
        losses = []
        self.predictions.clear()
        for maps, fell in self.batches:
            logits = model(maps)
            losses.append(float(F.binary_cross_entropy_with_logits(logits, fell)))
            self.predictions.append(torch.sigmoid(logits))
        model.train()
        chances = torch.cat(self.predictions[-len(self.batches):])
        caught = ((chances > 0.5).float() * self.truth).sum() / self.truth.sum().clamp(min=1.0)
        return Evaluation(step, sum(losses) / len(losses), float(caught), self.calibration(chances))


class Trainer:
    def __init__(self):
        torch.manual_seed(31)
        self.model = BreakNet().to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self.survey = CliffSurvey(seed=7)
        self.evaluator = Evaluator(CliffSurvey(seed=8))
        self.latest = None
        self.best = None
        self.steps = 0

    def step(self):
        maps, fell = self.survey.batch()
        loss = F.binary_cross_entropy_with_logits(self.model(maps), fell)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % CHECK_EVERY == 0:
            self.latest = self.evaluator.evaluate(self.model, self.steps)
            if self.best is None or self.latest.loss < self.best.loss:
                self.best = self.latest
        return float(loss)


def main():
    trainer = Trainer()
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        loss = trainer.step()
        if round_begun - told > 2.0 and trainer.latest is not None:
            told = round_begun
            print(f"step {trainer.steps}: loss {loss:.4f}, check {trainer.latest.loss:.4f}, "
                  f"recall {trainer.latest.recall:.2f}, calibration {trainer.latest.calibration}", flush=True)
        time.sleep(max(0.01, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - round_begun)))
    best = trainer.best
    print(f"done after {trainer.steps} steps, best check loss {best.loss if best else float('nan'):.4f}", flush=True)


if __name__ == "__main__":
    main()
