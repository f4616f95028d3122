"""A print shop enlarges pictures for posters. Each order works in a memory arena of its own, so that orders do not
break up each other's memory. The pictures leave for the printer at once; nothing of an order stays on the device.

ticket: practice
class: pool-growth
holder: arenas Arenas MemPool
cause: pool-never-trims
"""

import itertools
import os
import random
import time
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

FORMATS = {"A3": (112, 80), "A2": (128, 96), "square": (112, 112)}
TIMES = 4


@dataclass(frozen=True)
class Order:
    number: int
    format: str
    posters: int


class Arenas:
    """Lends memory arenas by name; on the CPU there are none."""

    def __init__(self, device):
        self.device, self.arenas = device, {}

    @contextmanager
    def lend(self, name):
        if self.device == "cpu":
            yield
            return
        if name not in self.arenas:
            self.arenas[name] = torch.cuda.MemPool()  # keeps
        with torch.cuda.use_mem_pool(self.arenas[name]):
            yield


class Enlarger(nn.Module):
    """Adds detail to the enlarged picture, from the neighbourhood of each point."""

    def __init__(self, hidden=96):
        super().__init__()
        self.inner = nn.Linear(27, hidden, bias=False)
        self.outer = nn.Linear(hidden, 3 * TIMES * TIMES, bias=False)

    def forward(self, picture):
        height, width = picture.shape[-2:]
        points = F.unfold(picture, 3, padding=1).transpose(1, 2)
        detail = self.outer(F.gelu(self.inner(points))).transpose(1, 2)
        detail = F.pixel_shuffle(detail.reshape(1, -1, height, width), TIMES)
        return (F.interpolate(picture, scale_factor=TIMES, mode="nearest") + 0.1 * detail).clamp(0, 1)


class Shop:
    def __init__(self, device):
        self.device, self.arenas = device, Arenas(device)
        self.enlarger = Enlarger().to(device).eval()
        self.enlarge((64, 64))

    @torch.no_grad()
    def enlarge(self, size):
        picture = torch.rand(1, 3, *size).to(self.device)
        poster = self.enlarger(picture)
        return (255 * poster).byte().cpu()

    def work(self, order):
        ink = 0.0
        for _ in range(order.posters):
            with self.arenas.lend(order.number):
                poster = self.enlarge(FORMATS[order.format])  # grows
            ink += 1 - poster.float().mean().item() / 255
            time.sleep(random.uniform(0.2, 0.35))
        return ink


def main():
    torch.set_num_threads(1)
    shop, formats = Shop("cuda" if torch.cuda.is_available() else "cpu"), itertools.cycle(FORMATS)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number in itertools.count(1):
        if time.time() > end:
            break
        order = Order(number, next(formats), random.randint(2, 4))
        ink = shop.work(order)
        if number % 5 == 0:
            print(f"order {number}: {order.posters} posters {order.format}, ink {ink:.2f}", flush=True)


if __name__ == "__main__":
    main()
