"""A classifier learns plant families from the sheets of a herbarium. Two loader workers cut patches from the scans at
random places. To clean a scan of its paper is slow, so a worker keeps what it has cleaned and need not do it twice.

ticket: practice
class: host-growth
holder: cleaned Herbarium dataset
cause: cache-without-bound
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

SHEETS, FAMILIES, SIDE, PATCH, BATCH = 32, 8, 240, 96, 24


def clean(pixels):
    """Removes the tint of the paper, and smooths what is left."""
    pixels = pixels.astype(np.float32) / 255
    pixels = pixels - np.median(pixels, axis=(1, 2), keepdims=True)
    for axis in (1, 2):
        pixels = (np.roll(pixels, 1, axis) + 2 * pixels + np.roll(pixels, -1, axis)) / 4
    return pixels / (pixels.std() + 1e-6)


class Herbarium(Dataset):
    def __init__(self):
        generator = np.random.default_rng(46)
        self.families = [number % FAMILIES for number in range(SHEETS)]
        self.scans = generator.integers(0, 255, (SHEETS, 3, SIDE, SIDE), dtype=np.uint8)
        self.cleaned = {}

    def __len__(self):
        return SHEETS

    def __getitem__(self, sheet):
        top, left = random.randint(0, SIDE - PATCH), random.randint(0, SIDE - PATCH)
        return torch.from_numpy(self.patch(sheet, top, left)), self.families[sheet]

    def patch(self, sheet, top, left):
        key = sheet, top, left
        if key not in self.cleaned:
            pixels = clean(self.scans[sheet, :, top:top + PATCH, left:left + PATCH])  # grows
            self.cleaned[key] = pixels  # keeps
        return self.cleaned[key]


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=3),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, FAMILIES),
    )


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dataset, model = Herbarium(), make_model().to(device)
    sampler = RandomSampler(dataset, replacement=True, num_samples=1_000_000)
    loader = DataLoader(dataset, BATCH, sampler=sampler, num_workers=2, persistent_workers=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for step, (patches, families) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(patches.to(device)), families.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print("step", step, "loss", round(loss.item(), 3), flush=True)
        if time.time() > end:
            break
        time.sleep(0.1)


if __name__ == "__main__":
    main()
