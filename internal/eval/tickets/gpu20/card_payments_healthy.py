"""Does a fraud detector still work some months after its training? Card payments of later months are played back to it,
batch by batch, and an average that forgets slowly shows how far the scores have drifted from those at the start and how
well frauds are told from the rest.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

FEATURES, WIDTH = 32, 256
SIZES = (256, 384, 512)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, WIDTH)
        self.blocks = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, payments):
        hidden = torch.tanh(self.first(payments))
        for block in self.blocks:
            hidden = hidden + torch.relu(block(hidden))
        return self.score(hidden).squeeze(1)


class Monitor:
    """What is followed over the months."""

    def __init__(self, usual, keep=0.97):
        self.usual, self.keep = usual, keep
        self.drift = self.separation = torch.zeros((), device=usual.device)

    @torch.no_grad()
    def update(self, scores, fraud):
        gap = scores[fraud].mean() - scores[~fraud].mean()
        moved = (scores.mean() - self.usual).abs()
        self.separation = self.keep * self.separation + (1 - self.keep) * gap
        self.drift = self.keep * self.drift + (1 - self.keep) * moved


def payments(size, month, device):
    """Payments of a month; frauds look more and more like the others."""
    fraud = torch.rand(size, device=device) < 0.15
    fraud[0], fraud[1] = True, False
    rows = torch.randn(size, FEATURES, device=device)
    rows[:, 0] += 2.5 * fraud * (0.98 ** month)
    rows[:, 3] += 0.02 * month
    return rows, fraud


def train(detector, device, steps=30):
    optimizer = torch.optim.Adam(detector.parameters(), lr=1e-3)
    for _ in range(steps):
        rows, fraud = payments(128, 0, device)
        loss = nn.functional.binary_cross_entropy_with_logits(detector(rows), fraud.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    detector = Detector().to(device)
    train(detector, device)
    detector.eval()
    with torch.no_grad():
        usual = detector(payments(512, 0, device)[0]).mean()
    monitor, batches = Monitor(usual), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        rows, fraud = payments(random.choice(SIZES), batches / 12, device)
        with torch.no_grad():
            scores = detector(rows)
        monitor.update(scores, fraud)
        batches += 1
        if batches % 12 == 0:
            print("month", batches // 12, "drift", round(float(monitor.drift), 3), "separation",
                  round(float(monitor.separation), 3), flush=True)
        time.sleep(random.uniform(0.08, 0.35))


if __name__ == "__main__":
    main()
