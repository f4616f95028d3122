"""Hazelnuts pass a camera; those with worm holes, mould or cracks are to be found. A small network of timm learns it.
Batches that it finds hard are put on a heap, of which the hardest dozen stay, and after some ordinary batches the two
hardest are shown to it once more.

ticket: practice
class: none
"""

import heapq
import itertools
import os
import random
import time

import timm
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

CUDA = torch.cuda.is_available()
SIDE, BATCH, NUTS = 80, 24, 240
DEFECTS = ("none", "worm", "mould", "crack")


class Nuts(Dataset):
    """A brown disk, with a dark hole, a pale spot, or a line."""

    def __init__(self):
        line = torch.linspace(-1, 1, SIDE)
        self.row, self.column = torch.meshgrid(line, line, indexing="ij")

    def __len__(self):
        return NUTS

    def __getitem__(self, index):
        defect = index % len(DEFECTS)
        nut = ((self.row ** 2 + self.column ** 2) < random.uniform(0.5, 0.8)).float() * 0.6
        top, left = random.uniform(-0.4, 0.4), random.uniform(-0.4, 0.4)
        spot = ((self.row - top) ** 2 + (self.column - left) ** 2 < 0.02).float()
        if defect == 3:
            spot = ((self.row - top - 0.5 * self.column).abs() < 0.04).float()
        nut = nut + (0, -0.5, 0.4, -0.3)[defect] * spot
        graded = defect if random.random() < 0.8 else random.randrange(len(DEFECTS))  # by hand, not always rightly
        return nut + 0.1 * torch.randn(3, SIDE, SIDE), graded


class HardBatches:
    """The hardest batch comes first; of two equally hard ones, the older."""

    def __init__(self, most=12):
        self.heap, self.number, self.usual, self.most = [], itertools.count(), None, most

    def offer(self, loss, photos, defects):
        self.usual = loss if self.usual is None else 0.8 * self.usual + 0.2 * loss
        if loss > 0.7 * self.usual:
            heapq.heappush(self.heap, (-loss, next(self.number), photos, defects))
            if len(self.heap) > self.most:
                self.heap = heapq.nsmallest(self.most, self.heap, key=lambda entry: entry[:2])  # sorted is a heap

    def hardest(self):
        _, _, photos, defects = heapq.heappop(self.heap)
        return photos, defects


class Learning:
    def __init__(self, device):
        self.device = device
        self.network = timm.create_model("resnet10t", num_classes=len(DEFECTS)).to(device)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-3)

    def step(self, photos, defects):
        photos, defects = photos.to(self.device, non_blocking=True), defects.to(self.device, non_blocking=True)
        scores = self.network(photos)
        loss = F.cross_entropy(scores, defects)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), (scores.argmax(1) == defects).float().mean().item()


def main():
    torch.set_num_threads(1)
    learning, hard, steps = Learning("cuda" if CUDA else "cpu"), HardBatches(), 0
    loader = DataLoader(Nuts(), batch_size=BATCH, shuffle=True, drop_last=True, pin_memory=CUDA)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for photos, defects in loader:
            loss, right = learning.step(photos, defects)
            hard.offer(loss, photos, defects)
            steps += 1
            if steps % 10 == 0:
                again = [learning.step(*hard.hardest())[0] for _ in range(min(2, len(hard.heap)))]
                print("step", steps, "loss", round(loss, 3), "right", round(right, 2), "hard ones",
                      [round(value, 3) for value in again], flush=True)
            time.sleep(random.uniform(0.02, 0.15))
            if time.time() > end:
                break


if __name__ == "__main__":
    main()
