"""Harbour microphones hear the horns of ferries, and a network learns to tell the ferries apart. Each example is two
seconds out of a recording, taken anywhere in it. Spectrograms are slow to compute, so those of the
recordings are cached.

ticket: practice
class: none
"""

import os
import random
import time
from functools import lru_cache

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

RATE, SECONDS, CLIP = 8_000, 12, 2
FERRIES, RECORDINGS, BATCH = 6, 24, 16
FRAME, HOP = 256, 80
LENGTH = (RATE * CLIP - FRAME) // HOP + 1


@lru_cache(maxsize=None)
def recording(number):
    """A recording of one ferry's horn over the noise of the harbour."""
    noise, times = np.random.default_rng(number), np.arange(RATE * SECONDS) / RATE
    pitch = 90 + 25 * (number % FERRIES) + noise.uniform(-4, 4)
    horn = sum(np.sin(2 * np.pi * pitch * overtone * times) / overtone for overtone in (1, 2, 3))
    blows = np.sin(2 * np.pi * times / noise.uniform(3, 6)) > -0.2
    return (horn * blows + noise.normal(0, 0.3, times.shape)).astype(np.float32)


@lru_cache(maxsize=None)
def spectrogram(number):
    frames = np.lib.stride_tricks.sliding_window_view(recording(number), FRAME)[::HOP]
    frames = frames * np.hanning(FRAME).astype(np.float32)
    return np.log1p(np.abs(np.fft.rfft(frames))).astype(np.float32).T


def example():
    number = random.randrange(RECORDINGS)
    whole = spectrogram(number)
    start = random.randrange(whole.shape[1] - LENGTH)
    return whole[:, start:start + LENGTH], number % FERRIES


def batch(device):
    spectrograms, ferries = zip(*(example() for _ in range(BATCH)))
    return torch.from_numpy(np.stack(spectrograms)).to(device), torch.tensor(ferries, device=device)


class HornNet(nn.Module):
    def __init__(self, bands=FRAME // 2 + 1, width=48):
        super().__init__()
        self.conv = nn.Conv1d(bands, width, 5, stride=2)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, FERRIES)

    def forward(self, spectrograms):
        hidden = F.relu(self.conv(spectrograms)).transpose(1, 2)
        return self.head(self.gru(hidden)[0].mean(dim=1))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = HornNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end, step, right = time.time() + float(os.environ.get("SECONDS", "45")), 0, 0.0
    while time.time() < end:
        spectrograms, ferries = batch(device)
        logits = model(spectrograms)
        loss = F.cross_entropy(logits, ferries)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        right = 0.9 * right + 0.1 * (logits.argmax(dim=1) == ferries).float().mean().item()
        step += 1
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}, lately {right:.0%} right", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
