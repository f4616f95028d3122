"""A brickworks watches the draft of its tunnel kiln. An autoencoder has learned what the gauges look like when all is
well; how badly it rebuilds each gauge is smoothed over the last readings, and a gauge that stays above its limit is
reported to the burner. Every few seconds the autoencoder learns a little more from what it has just seen.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

GAUGES, HIDDEN, WINDOW = 64, 384, 256
DECAY, LIMIT = 0.98, 1.05


class Rebuilder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(GAUGES, HIDDEN), nn.GELU(),
            nn.Linear(HIDDEN, 16), nn.GELU(),
            nn.Linear(16, HIDDEN), nn.GELU(),
            nn.Linear(HIDDEN, GAUGES),
        )

    def forward(self, readings):
        return self.layers(readings)


class DraftWatch:
    """The smoothed error of each gauge."""

    def __init__(self, model, device):
        self.model = model
        self.levels = torch.ones(GAUGES, device=device)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def see(self, readings):
        """Takes in a window of readings, and returns the gauges that are too high."""
        errors = (self.model(readings) - readings).pow(2).mean(dim=0)
        self.levels = DECAY * self.levels + (1 - DECAY) * errors.detach()
        return (self.levels > LIMIT).nonzero().flatten().tolist()

    def learn(self, readings, steps=4):
        for _ in range(steps):
            loss = nn.functional.mse_loss(self.model(readings), readings)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


class Kiln:
    """The gauges drift slowly, and now and then one of them is off."""

    def __init__(self):
        self.mean, self.off = torch.zeros(GAUGES), None

    def window(self):
        self.mean = 0.99 * self.mean + 0.05 * torch.randn(GAUGES)
        readings = self.mean + torch.randn(WINDOW, GAUGES)
        if random.random() < 0.05:
            self.off = random.randrange(GAUGES)
        if self.off is not None:
            readings[:, self.off] += 2.0
        return readings


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kiln, watch = Kiln(), DraftWatch(Rebuilder().to(device), device)
    windows, warnings = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        readings = kiln.window().to(device)
        high = watch.see(readings)
        windows, warnings = windows + 1, warnings + len(high)
        if windows % 30 == 0:
            loss = watch.learn(readings)
            print(f"{windows} windows, loss {loss:.3f}, {warnings} warnings, now high: {high}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
