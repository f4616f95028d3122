"""Learns to tell the patterns of quilts from patches of photographs. Two threads prepare the batches ahead of the
training: they cut the patches, put them on the device and jitter their colours there. The training takes the batches
in the order of their numbers.

ticket: practice
class: app-leak
holder: jobs Ahead Future
cause: futures-kept results-kept
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

PATTERNS, SIDE, PATCH, BATCH, AHEAD = 5, 320, 112, 16, 3


class Photos:
    """A photograph of a quilt for each pattern, and patches that are cut from them."""

    def __init__(self):
        rng = np.random.default_rng(7)
        y, x = np.mgrid[:SIDE, :SIDE]
        squares = [(x // (8 + 6 * n) + y // (12 + 4 * n)) % 2 for n in range(PATTERNS)]
        self.images = [np.stack([s * c for c in rng.uniform(0.3, 1.0, 3)]).astype(np.float32) for s in squares]

    def patch(self, pattern):
        top, left = random.randrange(SIDE - PATCH), random.randrange(SIDE - PATCH)
        return self.images[pattern][:, top:top + PATCH, left:left + PATCH]


class Ahead:
    """The batches of a function, of which the next few are always in the making."""

    def __init__(self, prepare):
        self.prepare, self.taken = prepare, 0
        self.pool = ThreadPoolExecutor(2)
        self.jobs = [self.pool.submit(prepare, number) for number in range(AHEAD)]

    def __iter__(self):
        return self

    def __next__(self):
        self.jobs.append(self.pool.submit(self.prepare, len(self.jobs)))  # keeps
        batch = self.jobs[self.taken].result()
        self.taken += 1
        return batch

    def close(self):
        self.pool.shutdown(wait=True)


def preparer(photos, device):
    def prepare(number):
        """A batch, half of which is mirrored in every other batch."""
        patterns = [random.randrange(PATTERNS) for _ in range(BATCH)]
        patches = torch.from_numpy(np.stack([photos.patch(pattern) for pattern in patterns])).to(device)
        gain = torch.empty(BATCH, 3, 1, 1, device=device).uniform_(0.7, 1.3)
        if number % 2:
            patches = patches.flip(-1)
        patches = (patches * gain + 0.05 * torch.randn_like(patches)).clamp(0, 1)  # grows
        return patches, torch.tensor(patterns, device=device)

    return prepare


def pattern_model():
    return nn.Sequential(
        nn.Conv2d(3, 12, 7, stride=4), nn.ReLU(), nn.Conv2d(12, 24, 5, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(24 * 9, PATTERNS),
    )


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = pattern_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches, right, step = Ahead(preparer(Photos(), device)), 0.0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        patches, patterns = next(batches)
        scores = model(patches)
        loss = F.cross_entropy(scores, patterns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right = 0.95 * right + 0.05 * (scores.argmax(1) == patterns).float().mean().item()
        step += 1
        if step % 25 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {right:.0%} right", flush=True)
        time.sleep(0.12)
    batches.close()


if __name__ == "__main__":
    main()
