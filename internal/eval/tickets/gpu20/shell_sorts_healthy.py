"""Sorts of sea shells are learned from photographs. So that the GPU needn't wait, the next batch is brought over and
made ready on a stream of its own while the network works on the last one; for each epoch a new prefetcher goes through
the photographs from the start, on the same stream.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CUDA = torch.cuda.is_available()
SORTS, SIDE, BATCH, PHOTOS = 10, 112, 32, 320


class Photographs:
    """All photographs, small enough to be held in memory as bytes."""

    def __init__(self, rng):
        self.sort = rng.integers(0, SORTS, PHOTOS)
        line = np.linspace(-1, 1, SIDE)
        angle, far = np.arctan2(line[:, None], line), np.hypot(line[:, None], line)
        spirals = [np.float32(127 + 100 * np.sin((3 + sort) * (angle + 3 * far))) for sort in range(SORTS)]
        noise = 20 * rng.standard_normal((PHOTOS, 3, SIDE, SIDE), np.float32)
        self.images = (np.stack([spirals[sort] for sort in self.sort])[:, None] + noise).clip(0, 255).astype(np.uint8)

    def batches(self):
        order = np.random.permutation(PHOTOS)
        for start in range(0, PHOTOS - BATCH + 1, BATCH):
            chosen = order[start:start + BATCH]
            yield torch.from_numpy(self.images[chosen]), torch.from_numpy(self.sort[chosen])


class Prefetcher:
    def __init__(self, batches, device, stream):
        self.batches, self.device = iter(batches), device
        self.stream = stream
        self.preload()

    def preload(self):
        self.images = self.sorts = None
        batch = next(self.batches, None)
        if batch is None:
            return
        with torch.cuda.stream(self.stream) if CUDA else contextlib.nullcontext():
            images, sorts = (part.pin_memory() if CUDA else part for part in batch)
            self.sorts = sorts.to(self.device, non_blocking=True)
            self.images = images.to(self.device, non_blocking=True).float().sub_(127).div_(64)

    def __iter__(self):
        while self.images is not None:
            images, sorts = self.images, self.sorts
            if CUDA:
                torch.cuda.current_stream().wait_stream(self.stream)
                for part in (images, sorts):
                    part.record_stream(torch.cuda.current_stream())
            self.preload()
            yield images, sorts


def network():
    return nn.Sequential(nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, SORTS))


def main():
    torch.set_num_threads(1)
    device = "cuda" if CUDA else "cpu"
    photographs, model = Photographs(np.random.default_rng(6)), network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    stream = torch.cuda.Stream() if CUDA else None
    end, epoch = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        total = torch.zeros((), device=device)
        for images, sorts in Prefetcher(photographs.batches(), device, stream):
            loss = F.cross_entropy(model(images), sorts)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
            time.sleep(random.uniform(0.06, 0.2))
        epoch += 1
        print("epoch", epoch, "loss", round(total.item() / (PHOTOS // BATCH), 3), flush=True)


if __name__ == "__main__":
    main()
