"""Recognises the bells of trams in street recordings. For training, each batch is played a bit too fast or too slow: it
is taken as if it was recorded at a slightly wrong rate, and resampled from that to the rate of the model. A resampler
computes its kernel when it is made, so it is made once for each rate.

ticket: practice
class: app-leak
holder: resamplers by_rate Speed Resample kernel
cause: cache-without-bound
"""

import math
import os
import random
import time

import torch
import torchaudio
from torch import nn
from torch.nn import functional as F

RATE, LINES, BATCH, CLIP = 16_000, 8, 6, 2
RATES = range(12_010, 20_000, 20)


class Speed:
    """Plays sounds at the speed that another rate gives them."""

    def __init__(self, device):
        self.device, self.by_rate = device, {}

    def resampler(self, rate):
        if rate not in self.by_rate:
            self.by_rate[rate] = torchaudio.transforms.Resample(rate, RATE).to(self.device)  # grows keeps
        return self.by_rate[rate]

    def __call__(self, sounds, rate):
        return self.resampler(rate)(sounds)


class BellModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.mels = torchaudio.transforms.MelSpectrogram(RATE, n_fft=512, hop_length=256, n_mels=40)
        self.layers = nn.Sequential(
            nn.Conv1d(40, 48, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(48, 64, 5, padding=2), nn.ReLU(),
        )
        self.head = nn.Linear(64, LINES)

    def forward(self, sounds):
        mels = (self.mels(sounds) + 1e-4).log()
        return self.head(self.layers(mels).amax(dim=-1))


def record(rate):
    """A batch of recordings at a rate, and the lines whose bells ring in them."""
    lines = torch.randint(LINES, (BATCH,))
    times = torch.arange(CLIP * rate) / rate
    pitch = 600 + 90 * lines[:, None] + 10 * torch.randn(BATCH, 1)
    bell = torch.sin(2 * math.pi * pitch * times) * torch.exp(-3 * (times - random.uniform(0.1, 0.8)).clamp(min=0))
    return bell + 0.2 * torch.randn(BATCH, CLIP * rate), lines


@torch.no_grad()
def evaluate(model, device):
    sounds, lines = record(RATE)
    return (model(sounds.to(device)).argmax(1) == lines.to(device)).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, speed, step = BellModel().to(device), Speed(device), 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        rate = random.choice(RATES)
        sounds, lines = record(rate)
        loss = F.cross_entropy(model(speed(sounds.to(device), rate)), lines.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}, right {evaluate(model, device):.2f}", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
