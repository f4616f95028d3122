"""Scanned parchment leaves are searched for erased writing. The leaves are of all sizes. A leaf is read into a
pinned buffer so that its way to the card is short, and the buffer is used again for the next leaf. The network marks
the places where an older text may be.

ticket: practice
class: none
"""

import math
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HEIGHTS, WIDTHS, SMALL = (700, 1000), (500, 800), (128, 96)


class Staging:
    """Host memory through which the leaves go to the card."""

    def __init__(self, device):
        self.device = device
        self.flat = torch.empty(3 * HEIGHTS[1] * WIDTHS[1], dtype=torch.uint8, pin_memory=device == "cuda")

    def buffer(self, shape):
        return self.flat[: math.prod(shape)].view(shape)

    def upload(self, leaf):
        buffer = self.buffer(leaf.shape)
        buffer.numpy()[...] = leaf
        return buffer.to(self.device, non_blocking=False)


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1)
        )

    def forward(self, leaf):
        small = F.adaptive_avg_pool2d(leaf.float().unsqueeze(0) / 255.0, SMALL)
        return self.layers(small).sigmoid()


def scan(rng):
    """A leaf as it comes from the scanner: colours first, then rows and columns."""
    height, width = random.randint(*HEIGHTS), random.randint(*WIDTHS)
    leaf = rng.integers(150, 230, size=(3, height, width), dtype=np.uint8)
    top = random.randrange(height // 2)
    leaf[:, top : top + 40] //= 2
    return leaf


@torch.inference_mode()
def search(finder, leaf):
    """Where the older text is likeliest, as a share of the height, and how likely."""
    marks = finder(leaf)
    rows = F.avg_pool2d(marks, (3, marks.shape[3])).flatten()
    return rows.argmax().item() / len(rows), rows.max().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = np.random.default_rng()
    staging, finder = Staging(device), Finder().to(device).eval()
    leaves, best = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        place, score = search(finder, staging.upload(scan(rng)))
        leaves += 1
        best = max(best, score)
        if leaves % 25 == 0:
            print(f"{leaves} leaves: the last has its mark at {place:.2f}, best score {best:.3f}", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
