"""The spectrum that a peptide leaves in a mass spectrometer is learnt by a network, from a library that is worked out
as it goes. Training counts steps and not epochs, so that the loader has to begin anew by itself when it has come to
the end; itertools has something for that.

ticket: pytorch/pytorch#23900
class: host-growth
holder: batches cycle
cause: buffer-without-bound results-kept
"""

import itertools
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ACIDS, LONGEST, BINS = 20, 24, 2000
MASSES = np.random.default_rng(5).uniform(57, 186, ACIDS)


class Library(Dataset):
    """Peptides and their spectra: a peak for each place where the chain may break."""

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        luck = np.random.default_rng((self.seed, number))
        length = int(luck.integers(7, LONGEST + 1))
        chain = luck.integers(0, ACIDS, length)
        fronts = np.cumsum(MASSES[chain])
        masses = np.concatenate((fronts[:-1] + 1.007, fronts[-1] - fronts[:-1] + 19.018))
        spectrum = np.zeros(BINS, np.float32)
        np.maximum.at(spectrum, np.minimum(masses / 2.2, BINS - 1).astype(int), luck.gamma(2.0, 0.5, len(masses)))
        spectrum += luck.exponential(0.01, BINS).astype(np.float32)
        acids = np.full(LONGEST, ACIDS, np.int64)
        acids[:length] = chain
        return acids, np.sqrt(spectrum / spectrum.max(), dtype=np.float32)


class Spectrometer(nn.Module):
    """Reads the chain both ways, and says how high each bin is."""

    def __init__(self, width=64):
        super().__init__()
        self.acid = nn.Embedding(ACIDS + 1, width, padding_idx=ACIDS)
        self.reader = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bins = nn.Sequential(nn.Linear(2 * width, 256), nn.ReLU(), nn.Linear(256, BINS), nn.Softplus())

    def forward(self, acids):
        states, _ = self.reader(self.acid(acids))
        return self.bins(states.mean(1))


def angle(said, spectra):
    """How far apart spectra are, between 0 and 1."""
    alike = nn.functional.cosine_similarity(said, spectra, dim=1).clamp(-0.9999, 0.9999)
    return (2 / torch.pi * torch.acos(alike)).mean()


def rounds(loader):
    """Batches without an end."""
    return itertools.cycle(loader)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    angles = [float(angle(model(acids.to(device)), spectra.to(device))) for acids, spectra in loader]
    model.train()
    return sum(angles) / len(angles)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Spectrometer().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = rounds(DataLoader(Library(200_000, 1), batch_size=64, shuffle=True))
    held_out = DataLoader(Library(256, 2), batch_size=64)
    step, mean = 0, 1.0
    while time.time() < end:
        acids, spectra = next(batches)  # grows keeps
        loss = angle(model(acids.to(device)), spectra.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = 0.95 * mean + 0.05 * loss.item()
        step += 1
        if step % 25 == 0:
            print("step", step, "angle", round(mean, 4), "held out", round(validate(model, held_out, device), 4),
                  flush=True)
        time.sleep(random.uniform(0.01, 0.06))


if __name__ == "__main__":
    main()
