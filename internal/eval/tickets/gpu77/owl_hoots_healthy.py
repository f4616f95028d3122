"""Cleans recordings of owls: a small convolutional network takes the rain and the wind out of spectrograms. While it
trains it is tried on held-out recordings every few steps. The held-out error jumps about, so a smoothed one is shown,
and the learning rate is halved when that has not become better for a while.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BANDS, FRAMES, BATCH, EVERY, PATIENCE = 64, 128, 4, 4, 25


class Cleaner(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Conv2d(width, 1, 3, padding=1)
        self.dropout = nn.Dropout2d(0.1)

    def forward(self, spectrogram):
        hidden = F.gelu(self.first(spectrogram))
        hidden = self.dropout(hidden + F.gelu(self.middle(hidden)))
        return spectrogram - self.last(hidden)


class Smoothed:
    """An exponential moving average, and how long ago it was at its best."""

    def __init__(self, keep=0.9):
        self.keep, self.value, self.best, self.stale = keep, None, float("inf"), 0

    def update(self, new):
        self.value = new if self.value is None else self.keep * self.value + (1 - self.keep) * new
        if self.value < self.best:
            self.best, self.stale = self.value.item(), 0
        else:
            self.stale += 1


def recordings(count, device):
    """Hoots, which are smooth bands, and the same with rain on top."""
    time_axis = torch.linspace(0, 6, FRAMES, device=device)
    band_axis = torch.linspace(-1, 1, BANDS, device=device)[:, None]
    pitch = torch.rand(count, 1, 1, 1, device=device) - 0.5
    clean = torch.exp(-40 * (band_axis - pitch - 0.1 * torch.sin(time_axis)).square())
    return clean, clean + 0.3 * torch.rand_like(clean)


def train_step(model, optimizer, device):
    model.train()
    clean, noisy = recordings(BATCH, device)
    loss = F.mse_loss(model(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def evaluate(model, held_out):
    model.eval()
    clean, noisy = held_out
    return F.mse_loss(model(noisy), clean)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Cleaner().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    held_out, smoothed, step = [recordings(BATCH, device) for _ in range(6)], Smoothed(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = train_step(model, optimizer, device)
        step += 1
        if step % EVERY == 0:
            smoothed.update(evaluate(model, random.choice(held_out)))
            if smoothed.stale > PATIENCE:
                smoothed.stale = 0
                for group in optimizer.param_groups:
                    group["lr"] /= 2
        if step % 40 == 0:
            print(f"step {step}: training {loss:.4f}, held out {smoothed.value:.4f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
