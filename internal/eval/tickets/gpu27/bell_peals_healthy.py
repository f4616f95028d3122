"""A tuner for church bells learns to hear the pitch of a bell in short recordings, which never end. Now and then it
is examined: a batch of the same recordings is heard without learning, and the error in cents is printed.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

RATE, SAMPLES, BATCH = 16_000, 32_768, 8
PARTIALS = {0.5: 0.6, 1.0: 1.0, 1.19: 0.5, 2.0: 0.8}
EXAMINE = 8


class Ear(nn.Module):
    def __init__(self):
        super().__init__()
        self.hear = nn.Sequential(
            nn.Conv1d(1, 24, 256, stride=64), nn.GELU(),
            nn.Conv1d(24, 48, 8, stride=4), nn.GELU(),
            nn.Conv1d(48, 48, 8, stride=4), nn.GELU(),
        )
        self.pitch = nn.Linear(48, 1)

    def forward(self, waves):
        return self.pitch(self.hear(waves.unsqueeze(1)).mean(dim=-1)).squeeze(-1)


def peals(device):
    """Batches of recordings and, in octaves above 200 Hz, the pitches of the bells that ring in them."""
    seconds = torch.arange(SAMPLES) / RATE
    while True:
        octaves = 2.5 * torch.rand(BATCH)
        hertz = 200 * 2**octaves
        waves = 0.02 * torch.randn(BATCH, SAMPLES)
        for ratio, loudness in PARTIALS.items():
            waves += loudness * torch.sin(6.2832 * ratio * hertz[:, None] * seconds)
        waves *= torch.exp(-seconds * random.uniform(0.8, 2.5))
        yield waves.to(device), octaves.to(device)


def learn(ear, optimizer, waves, octaves):
    loss = F.mse_loss(ear(waves), octaves)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def examine(ear, waves, octaves):
    """The mean error in cents."""
    ear.eval()
    cents = 1200 * (ear(waves) - octaves).abs().mean().item()
    ear.train()
    return cents


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ear = Ear().to(device)
    optimizer = torch.optim.Adam(ear.parameters(), lr=1e-3)
    lessons = peals(device)
    lesson = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        waves, octaves = next(lessons)
        loss = learn(ear, optimizer, waves, octaves)
        lesson += 1
        if lesson % EXAMINE == 0:
            waves, octaves = next(lessons)
            cents = examine(ear, waves, octaves)
            print(f"lesson {lesson}: loss {loss:.3f}, {cents:.0f} cents off", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
