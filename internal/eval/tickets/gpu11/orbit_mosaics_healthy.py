"""Strips that a satellite takes are turned, blended and put together to mosaics. The strips of one are worked on by
a pool of threads, and each thread has a stream of its own, so that one's copies run beside the other's work. The pool
of threads is the same for all mosaics. Without a GPU there are no streams.

ticket: practice
class: none
"""

import concurrent.futures
import contextlib
import math
import os
import random
import threading
import time

import torch
from torch.nn import functional as F

SIDE, BANDS, SCALE = 512, 4, 4


class Strip:
    """What the satellite saw in one go, and how it lies over the mosaic."""

    def __init__(self, numbers):
        self.angle, self.shift = random.uniform(-0.2, 0.2), (random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3))
        coarse = torch.rand(1, BANDS, 20, 20, generator=numbers)
        self.light = F.interpolate(coarse, (SIDE // SCALE, SIDE // SCALE), mode="bilinear", align_corners=False)


class Stitcher:
    def __init__(self, device):
        self.device, self.local = device, threading.local()
        self.workers = concurrent.futures.ThreadPoolExecutor(2)

    def stream(self):
        """A place for the thread's work beside that of the other threads."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        if not hasattr(self.local, "stream"):
            self.local.stream = torch.cuda.Stream()
        return torch.cuda.stream(self.local.stream)

    def turned(self, strip):
        """Where each point of the mosaic lies in the strip."""
        line = torch.linspace(-1, 1, SIDE, device=self.device)
        cos, sin = math.cos(strip.angle), math.sin(strip.angle)
        across = cos * line[None, :] - sin * line[:, None] + strip.shift[0]
        along = sin * line[None, :] + cos * line[:, None] + strip.shift[1]
        return torch.stack([across, along], -1)[None]

    @torch.no_grad()
    def place(self, strip):
        """The strip in the mosaic, a quarter of the size, and how much it counts at each point."""
        time.sleep(random.uniform(0.2, 0.6))  # the strip is read
        with self.stream():
            light = strip.light.to(self.device)
            light = F.interpolate(light, (SIDE, SIDE), mode="bilinear", align_corners=False)
            where = self.turned(strip)
            laid = F.grid_sample(light, where, mode="bilinear", align_corners=False)
            counts = (1 - where.abs().amax(-1)).clamp(min=0)[:, None]
            smooth = F.avg_pool2d(laid, 9, stride=1, padding=4)
            sharp = (laid + 0.5 * (laid - smooth)).clamp(0, 1)
            small, counts = F.avg_pool2d(sharp * counts, SCALE), F.avg_pool2d(counts, SCALE)
            return small.cpu(), counts.cpu()

    def mosaic(self, strips):
        placed = list(self.workers.map(self.place, strips))
        total = sum(counts for _, counts in placed)
        return sum(small for small, _ in placed) / total.clamp(min=1e-3), total


def main():
    torch.set_num_threads(1)
    numbers, made = torch.Generator().manual_seed(0), 0
    stitcher = Stitcher("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        picture, counts = stitcher.mosaic([Strip(numbers) for _ in range(random.randint(4, 8))])
        made += 1
        print("mosaic", made, "light", round(float(picture.mean()), 3), "holes",
              round(float((counts < 0.01).float().mean()), 3), flush=True)
        time.sleep(random.uniform(1.5, 3.5))


if __name__ == "__main__":
    main()
