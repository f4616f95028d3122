"""How much wheat a field will bear is foretold from the weather of its summer, by a network over the days. After some
steps of training it is tested on each of the regions, whose losses are kept for the curves and to see whether it still
gets better.

ticket: practice
class: app-leak
holder: curves
cause: uncut-autograd-graph results-kept
"""

import argparse
import collections
import os
import random
import time

import torch
from torch import nn

REGIONS = {"coast": (1.2, 0.3), "plain": (0.7, 0.6), "valley": (1.0, 0.9), "plateau": (0.5, 0.2), "delta": (1.5, 0.8)}
DAYS, KINDS = 180, 5  # rain, warmth, light, wind, damp


class YieldNet(nn.Module):
    """Looks at the weather in windows of days, and weighs the windows."""

    def __init__(self, width):
        super().__init__()
        self.days = nn.Sequential(nn.Conv1d(KINDS, width, 7, padding=3), nn.GELU(),
                                  nn.Conv1d(width, width, 7, padding=3), nn.GELU())
        self.weigh = nn.Conv1d(width, 1, 1)
        self.soil = nn.Linear(3, width)
        self.out = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, weather, soil):
        found = self.days(weather)  # grows
        pooled = (found * self.weigh(found).softmax(-1)).sum(-1)  # grows
        return self.out(pooled + self.soil(soil))[:, 0]


def season(region, fields, device):
    """Weather, soil and yield of some fields of a region."""
    wet, warm = REGIONS[region]
    day = torch.linspace(0, 3.14, DAYS, device=device)
    weather = torch.randn(fields, KINDS, DAYS, device=device) * 0.4
    weather[:, 0] += wet * torch.rand(fields, 1, device=device)
    weather[:, 1] += warm + torch.sin(day)
    soil = torch.rand(fields, 3, device=device)
    rain, heat = weather[:, 0, 60:120].mean(1), weather[:, 1, 90:150].mean(1)
    grain = 4 + 2 * torch.tanh(rain) - (heat - 1.2).clamp(min=0) * 3 + soil @ torch.tensor([1.0, -0.5, 0.3],
                                                                                         device=device)
    return weather, soil, grain + 0.1 * torch.randn(fields, device=device)


class Trainer:
    def __init__(self, options, device):
        self.options, self.device = options, device
        self.model = YieldNet(options.width).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=options.rate)
        self.curves = collections.defaultdict(list)

    def loss(self, region, fields):
        weather, soil, grain = season(region, fields, self.device)
        return nn.functional.huber_loss(self.model(weather, soil), grain)

    def train(self, steps):
        self.model.train()
        for _ in range(steps):
            loss = self.loss(random.choice(list(REGIONS)), self.options.batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(random.uniform(0.0, 0.03))

    def test(self):
        self.model.eval()
        for region in REGIONS:
            self.curves[region].append(self.loss(region, self.options.fields))  # keeps

    def better(self):
        """By how much the mean of the last five tests is below that of the five before."""
        gains = [sum(curve[-10:-5]) - sum(curve[-5:]) for curve in self.curves.values() if len(curve) >= 10]
        return float(sum(gains)) / 5 / len(gains) if gains else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--fields", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2e-3)
    torch.set_num_threads(1)
    trainer = Trainer(parser.parse_args(), "cuda" if torch.cuda.is_available() else "cpu")
    end, rounds = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        trainer.train(random.randint(4, 16))
        trainer.test()
        rounds += 1
        if rounds % 5 == 0:
            print("round", rounds, {region: round(float(curve[-1]), 3) for region, curve in trainer.curves.items()},
                  "better by", round(trainer.better(), 4), flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
