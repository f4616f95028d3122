"""Does the sonar of a kelp farm still see what it saw when its model was trained? Every batch of echoes is put through
the encoder, and its mean embedding is compared with a reference that follows it slowly. When the distance is large
against its usual spread, the detector warns of drift.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

BATCH, SIDE, WIDTH = 12, 48, 96
RATE, WARM_UP, LIMIT = 0.02, 20, 3.0


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.GELU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1), nn.GELU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(192, WIDTH),
        )

    def forward(self, echoes):
        return self.layers(echoes)


class DriftDetector:
    """Follows the mean embedding and the usual distance from it, each as an exponential average."""

    def __init__(self, encoder):
        self.encoder = encoder.eval()
        self.mean, self.spread, self.batches = None, 1.0, 0

    def update(self, echoes):
        """How many usual distances this batch is away from the reference."""
        centre = self.encoder(echoes).mean(dim=0).detach()
        self.batches += 1
        if self.mean is None:
            self.mean = centre
            return 0.0
        distance = torch.dist(centre, self.mean).item()
        ratio = distance / max(self.spread, 1e-9)
        self.mean = torch.lerp(self.mean, centre, RATE)
        rate = RATE if self.batches > WARM_UP else 1 / self.batches
        self.spread = self.spread * (1 - rate) + distance * rate
        return ratio if self.batches > WARM_UP else 0.0


def echoes_of(season, device):
    """A batch of echoes: the fronds are stripes, which lie more with the current as the season goes on."""
    rows = torch.linspace(0, 6.3, SIDE, device=device).view(1, 1, SIDE, 1)
    columns = torch.linspace(0, 6.3, SIDE, device=device).view(1, 1, 1, SIDE)
    phase = 6.3 * torch.rand(BATCH, 1, 1, 1, device=device)
    fronds = torch.sin(5 * columns + season * rows + phase)
    return fronds + 0.3 * torch.randn(BATCH, 1, SIDE, SIDE, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    detector = DriftDetector(Encoder().to(device))
    season, warnings, worst = 0.0, 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        season += 0.01
        ratio = detector.update(echoes_of(season, device))
        worst = max(worst, ratio)
        if ratio > LIMIT:
            warnings += 1
            print(f"drift at batch {detector.batches}: {ratio:.1f} usual distances", flush=True)
        if detector.batches % 25 == 0:
            print(f"{detector.batches} batches, {warnings} warnings, worst {worst:.2f}", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
