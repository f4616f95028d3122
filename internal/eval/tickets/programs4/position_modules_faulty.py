"""A detector is loaded anew for each customer. Its position embedding remembers what it made by shape, in a cache of the class
that has the module for a key.

ticket: huggingface/transformers#45412
class: host-growth
holder: lru_cache cache position Position
cause: cache-without-bound method-cached lru-cache-on-method
"""

import functools
import os
import random
import time

import torch
from torch import nn


class Position(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.table = nn.Parameter(torch.randn(64, width))
        self.asked = 0

    @functools.lru_cache(maxsize=None)  # keeps
    def forward(self, height, width):
        return self.make(height, width)

    def make(self, height, width):
        rows, columns = self.table[:height].detach(), self.table[:width].detach()
        return (rows[:, None] + columns[None]).flatten(0, 1)


class Detector(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.stem, self.position = nn.Conv2d(3, width, 8, 8), Position(width)
        self.head = nn.Linear(width, 5)

    def forward(self, image):
        parts = self.stem(image)
        height, width = parts.shape[-2:]
        return self.head(parts.flatten(2).transpose(1, 2) + self.position(height, width)).sigmoid()


def serve(detector):
    count = 0
    for _ in range(random.randint(3, 8)):
        size = random.choice([(128, 128), (128, 192), (192, 256)])
        with torch.no_grad():
            count += int((detector(torch.rand(1, 3, *size))[..., 0] > 0.6).sum())
        time.sleep(random.uniform(0.01, 0.03))
    return count


def main():
    torch.set_num_threads(1)
    end, customers = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        detector = Detector()  # grows
        found = serve(detector)
        customers += 1
        if customers % 20 == 0:
            print("customer %d: %d boxes" % (customers, found), flush=True)


if __name__ == "__main__":
    main()
