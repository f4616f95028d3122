"""Trains a small network to tell whale calls apart. The data set cuts a window from a long recording, from a random
start so that the calls are seen at every place. A spectrogram is slow to compute, so the latest are cached.

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
from torch.utils.data import DataLoader, Dataset

RATE, SECONDS_LONG, RECORDINGS = 4_000, 40, 20
WINDOW, FRAME, HOP = 10_000, 256, 96
KINDS = 5


class Recordings(Dataset):
    def __init__(self):
        random_state = np.random.default_rng(5)
        times = np.arange(RATE * SECONDS_LONG, dtype=np.float32) / RATE
        self.kinds = [number % KINDS for number in range(RECORDINGS)]
        self.sounds = []
        for kind in self.kinds:
            sweep = np.sin(2 * np.pi * (200 + 150 * kind + 40 * np.sin(times * (kind + 1))) * times)
            noise = random_state.standard_normal(len(times), dtype=np.float32)
            self.sounds.append((sweep + 0.5 * noise).astype(np.float32))
        self.shape = np.hanning(FRAME).astype(np.float32)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        number = index % RECORDINGS
        start = random.randrange(RATE * SECONDS_LONG - WINDOW)
        return torch.from_numpy(self.spectrogram(number, start)), self.kinds[number]

    @lru_cache(maxsize=128)
    def spectrogram(self, number, start):
        window = self.sounds[number][start:start + WINDOW]
        frames = np.lib.stride_tricks.sliding_window_view(window, FRAME)[::HOP]
        power = np.abs(np.fft.rfft(frames * self.shape, axis=1)) ** 2
        return np.log1p(power.T).astype(np.float32)[None]


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
        )
        self.kinds = nn.Linear(32, KINDS)

    def forward(self, spectrograms):
        return self.kinds(self.convolutions(spectrograms).mean(dim=(2, 3)))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Listener().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Recordings(), batch_size=24, shuffle=True, drop_last=True)
    end, steps, right = time.time() + float(os.environ.get("SECONDS", "45")), 0, 0.5
    while time.time() < end:
        for spectrograms, kinds in loader:
            spectrograms, kinds = spectrograms.to(device), kinds.to(device)
            logits = model(spectrograms)
            optimizer.zero_grad()
            F.cross_entropy(logits, kinds).backward()
            optimizer.step()
            right = 0.95 * right + 0.05 * (logits.argmax(dim=1) == kinds).float().mean().item()
            steps += 1
            if steps % 20 == 0:
                print(f"step {steps}: {right:.2f} of the calls right", flush=True)
            if time.time() > end:
                break
            time.sleep(0.12)


if __name__ == "__main__":
    main()
