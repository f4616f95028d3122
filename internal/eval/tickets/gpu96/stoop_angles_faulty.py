"""A falconer's club studies the stoop, the steep dive of a peregrine at a swung lure. A small network learns
from simulated dives where on the lure field the bird will strike, given the angle of the dive, the wind and
the pace of the lure. Each training round draws a fresh batch of dives, and now and then the trainer reports
how sharp the strike field of the recent rounds has become.

ticket: practice
class: app-leak
holder: strike_fields
cause: results-kept
"""
import os
import time
from dataclasses import dataclass, field

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 10
REPORT_ROUNDS = 20
BATCH = 128
FIELD = 1024
BIRDS = ("Aura", "Bracken", "Merle", "Sorrel")


@dataclass
class Report:
    """What the club's board shows about the recent training rounds."""

    rounds: int = 0
    loss: float = 0.0
    strike_fields: list = field(default_factory=list)

    def add(self, loss, strike_field):
        self.rounds += 1
        self.loss = 0.9 * self.loss + 0.1 * loss if self.rounds > 1 else loss
        self.strike_fields.append(strike_field)  # keeps

    def sharpness(self):
        recent = torch.stack(self.strike_fields[-REPORT_ROUNDS:])
        peak = recent.amax(dim=2).mean()
        spread = recent.std(dim=0).mean()
        return peak.item(), spread.item()


class StrikeNet(nn.Module):
    """Reads a dive and gives a distribution over the cells of the lure field."""

    def __init__(self, inputs=12, width=192):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, FIELD)

    def forward(self, dives):
        return self.head(self.body(dives))


class DiveSimulator:
    """Draws dives at random: height, angle, wind and the pace of the lure decide where the bird strikes."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.plumage = torch.randn(len(BIRDS), 12, generator=self.generator, device=DEVICE)
        self.aim = torch.randn(12, generator=self.generator, device=DEVICE)
        self.terrain = torch.rand(FIELD, 8192, generator=self.generator, device=DEVICE)

    def draw(self, bird):
        dives = torch.randn(BATCH, 12, generator=self.generator, device=DEVICE) + 0.1 * self.plumage[bird]
        centre = torch.sigmoid(dives @ self.aim / 3.0)
        cells = (centre * (FIELD - 1)).long()
        ridge = self.terrain[cells, bird].unsqueeze(1)
        return torch.cat([dives[:, :11], ridge], dim=1), cells


class Trainer:
    def __init__(self, seed=11):
        torch.manual_seed(seed)
        self.net = StrikeNet().to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=2e-3)
        self.simulator = DiveSimulator(seed)
        self.report = Report()
        self.round = 0

    def train_round(self):
        dives, cells = self.simulator.draw(self.round % len(BIRDS))
        scores = self.net(dives)
        loss = nn.functional.cross_entropy(scores, cells)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        strike_field = torch.softmax(scores.detach(), dim=1)  # grows
        self.report.add(loss.item(), strike_field)
        self.round += 1

    def publish(self, started):
        peak, spread = self.report.sharpness()
        bird = BIRDS[(self.round - 1) % len(BIRDS)]
        print(f"{time.monotonic() - started:5.1f} s  round {self.round:4d}  loss {self.report.loss:.3f}  "
              f"peak {peak:.4f}  spread {spread:.5f}  last bird {bird}", flush=True)


def main():
    trainer = Trainer()
    started = time.monotonic()
    pause = 1.0 / ROUNDS_PER_SECOND
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        trainer.train_round()
        if trainer.round % REPORT_ROUNDS == 0:
            trainer.publish(started)
        time.sleep(max(0.005, pause - (time.monotonic() - begun)))
    print(f"trained {trainer.round} rounds, closing loss {trainer.report.loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
