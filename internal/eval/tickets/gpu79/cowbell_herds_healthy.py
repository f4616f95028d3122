"""Trains a small network to tell herds apart by the sound of their bells. The front end is a learned bank of filters,
followed by a gain control: in training each batch is divided by its own loudness, and a running level is kept aside for
the recordings that are heard singly in evaluation.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

HERDS, BANDS, SAMPLES, BATCH = 6, 32, 8_000, 16


class GainControl(nn.Module):
    def __init__(self, bands, momentum=0.05):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("level", torch.ones(bands, 1))

    def forward(self, bands):
        if not self.training:
            return bands / self.level.sqrt()
        level = bands.detach().square().mean(dim=(0, 2)).unsqueeze(1)
        self.level = (1 - self.momentum) * self.level + self.momentum * level
        return bands / bands.abs().mean(dim=(0, 2), keepdim=True).clamp(min=1e-4)


class BellNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Conv1d(1, BANDS, 64, stride=16)
        self.gain = GainControl(BANDS)
        self.body = nn.Sequential(
            nn.Conv1d(BANDS, 48, 9, stride=4), nn.ReLU(), nn.Conv1d(48, 48, 9, stride=4), nn.ReLU()
        )
        self.head = nn.Linear(48, HERDS)

    def forward(self, waves):
        bands = self.filters(waves)
        return self.head(self.body(self.gain(bands)).mean(dim=2))


def recordings(count, pitches, device):
    """Bells that are struck now and then, with wind behind them."""
    herds = torch.randint(HERDS, (count,), device=device)
    ticks = torch.arange(SAMPLES, device=device) / 8_000
    strikes = torch.exp(-6 * (ticks * 4 % 1))
    waves = strikes * torch.sin(6.283 * pitches[herds].unsqueeze(1) * ticks)
    return (waves + 0.4 * torch.randn(count, SAMPLES, device=device)).unsqueeze(1), herds


@torch.no_grad()
def evaluate(model, pitches, device):
    model.eval()
    right = 0
    for _ in range(8):
        waves, herds = recordings(1, pitches, device)
        right += int((model(waves).argmax(dim=1) == herds).item())
    model.train()
    return right / 8


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = BellNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    pitches = torch.linspace(300, 1_400, HERDS, device=device)
    step = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        waves, herds = recordings(BATCH, pitches, device)
        loss = F.cross_entropy(model(waves), herds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 25 == 0:
            share = evaluate(model, pitches, device)
            print(f"step {step}: loss {loss.item():.3f}, {share:.0%} of single recordings right", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
