"""Seeing forecast for the dome of an observatory.

A wavefront sensor behind the telescope delivers the slopes of a few hundred patches of sky. A recurrent cell
follows the turbulence over each patch from frame to frame and forecasts the slopes of the next frame, which
the deformable mirror needs ahead of time. Every now and then the cell is tuned on the latest frames, so that
it follows the weather of the night. The seeing in arc seconds is shown on the console.

ticket: practice
class: app-leak
holder: air tracker
cause: uncut-autograd-graph
"""
import math
import os
import time
from collections import deque

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"

PATCHES = 512
SLOPES = 32
HIDDEN = 224
FRAME_RATE = 6.0
TUNE_EVERY = 20


class Atmosphere:
    """Three layers of frozen turbulence which drift over the pupil, each at a speed of its own."""

    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        self.layers = [torch.randn(PATCHES, 256, generator=gen).to(device) for _ in range(3)]
        self.speeds = (1, 3, 7)
        self.strengths = (1.0, 0.6, 0.3)
        self.offset = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.offset += 1
        gust = 1.0 + 0.3 * math.sin(self.offset / 40.0)
        slopes = torch.zeros(PATCHES, SLOPES, device=device)
        for layer, speed, strength in zip(self.layers, self.speeds, self.strengths):
            rolled = torch.roll(layer, shifts=self.offset * speed, dims=1)
            slopes += strength * gust * rolled[:, :SLOPES]
        return slopes + 0.05 * torch.randn_like(slopes)


class SeeingCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SLOPES, 96), nn.GELU())
        self.cell = nn.GRUCell(96, HIDDEN)
        self.mirror = nn.Linear(HIDDEN, SLOPES)

    def forward(self, slopes, air):
        air = self.cell(self.encoder(slopes), air)
        return self.mirror(air), air


class Tracker:
    """Follows the air over the dome frame after frame."""

    def __init__(self, model):
        self.model = model
        self.air = torch.zeros(PATCHES, HIDDEN, device=device)
        self.expected = torch.zeros(PATCHES, SLOPES, device=device)
        self.errors = deque(maxlen=30)

    def follow(self, slopes):
        self.errors.append((slopes - self.expected).square().mean().item())
        forecast, air = self.model(slopes, self.air)  # grows
        self.expected = forecast.detach().clamp(-4.0, 4.0)
        self.air = air  # keeps

    @property
    def residual(self):
        return math.sqrt(sum(self.errors) / len(self.errors))


class Tuner:
    """Fits the cell to the last frames of the sensor, from a calm sky on."""

    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.frames = deque(maxlen=8)

    def observe(self, slopes):
        self.frames.append(slopes)

    def tune(self):
        air = torch.zeros(PATCHES, HIDDEN, device=device)
        frames = list(self.frames)
        loss = 0.0
        for now, following in zip(frames, frames[1:]):
            forecast, air = self.model(now, air)
            loss = loss + (forecast - following).square().mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item() / max(1, len(frames) - 1)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(2)
    model = SeeingCell().to(device)
    tracker, tuner = Tracker(model), Tuner(model)
    fit = float("nan")
    for frame, slopes in enumerate(Atmosphere(seed=8), start=1):
        started = time.time()
        if started > end:
            break
        tracker.follow(slopes)
        tuner.observe(slopes)
        if frame % TUNE_EVERY == 0:
            fit = tuner.tune()
        if frame % 24 == 0:
            seeing = 0.4 + 0.5 * slopes.std().item()
            print(f"frame {frame}: seeing {seeing:.2f} arcsec, residual {tracker.residual:.3f}, fit {fit:.3f}",
                  flush=True)
        time.sleep(max(0.0, 1.0 / FRAME_RATE - (time.time() - started)))


if __name__ == "__main__":
    main()
