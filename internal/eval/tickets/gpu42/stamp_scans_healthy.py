"""Finds the missing teeth of postage stamps. The scans come in the order of the albums, and two workers read them as a
stream. So that a batch isn't from one album alone, each worker shuffles its stream through a buffer.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

HEIGHT, WIDTH, TEETH, PAGES, BATCH, BUFFER = 176, 144, 14, 60, 16, 240


class Albums(IterableDataset):
    """The stamps of the albums, page after page, each with its number of missing teeth."""

    def __iter__(self):
        rng = np.random.default_rng(torch.initial_seed() % 2**32)
        while True:
            paper = rng.integers(120, 220, 3)
            for _ in range(PAGES):
                yield self.scan(rng, paper)

    def scan(self, rng, paper):
        pixels = rng.integers(0, 36, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        pixels += paper.astype(np.uint8)
        missing = int(rng.integers(4))
        gaps = rng.choice(TEETH, missing, replace=False)
        for tooth in range(TEETH):
            if tooth not in gaps:
                pixels[:6, 10 * tooth:10 * tooth + 5] = 0
        return pixels, missing


class Shuffled(IterableDataset):
    def __init__(self, source, size):
        self.source, self.size = source, size

    def __iter__(self):
        rng, buffer = random.Random(torch.initial_seed()), []
        for sample in self.source:
            buffer.append(sample)
            if len(buffer) >= self.size:
                yield buffer.pop(rng.randrange(len(buffer)))


def collate(samples):
    scans = torch.from_numpy(np.stack([scan for scan, _ in samples])).permute(0, 3, 1, 2)
    return scans, torch.tensor([missing for _, missing in samples])


def tooth_model():
    return nn.Sequential(
        nn.Conv2d(3, 16, 6, stride=3), nn.ReLU(), nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(),
        nn.AdaptiveMaxPool2d((4, 8)), nn.Flatten(), nn.Linear(32 * 32, 4),
    )


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = tooth_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(
        Shuffled(Albums(), BUFFER), batch_size=BATCH, num_workers=2, collate_fn=collate, pin_memory=device == "cuda",
    )
    step, right = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for scans, missing in loader:
        scans, missing = scans.to(device, non_blocking=True).float() / 255, missing.to(device)
        scores = model(scans)
        loss = F.cross_entropy(scores, missing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = 0.95 * right + 0.05 * (scores.argmax(1) == missing).float().mean().item()
        step += 1
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {right:.0%} right", flush=True)
        if time.time() > end:
            break
        time.sleep(0.06)


if __name__ == "__main__":
    main()
