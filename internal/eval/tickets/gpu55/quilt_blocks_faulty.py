"""A studio draws quilts: a network of sines gives the colour of each point, and a quilt is drawn block by block onto a
canvas. Each order draws in a memory pool of its own, so that orders do not break up each other's memory.

ticket: practice
class: pool-growth
holder: arenas Arenas
cause: pool-never-trims cache-without-bound
"""

import itertools
import logging
import os
import random
import time
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from torch import nn

log = logging.getLogger("quilts")
CUSTOMERS = itertools.cycle(("amish", "baltimore", "hawaii"))


@dataclass(frozen=True)
class Order:
    customer: str
    number: int = field(default_factory=itertools.count(1).__next__)
    blocks: int = 8
    side: int = 80

    @property
    def arena(self):
        return f"{self.customer}-{self.number}"

    def rows(self):
        return range(0, self.blocks * self.side, self.side)


class Arenas:
    def __init__(self, device):
        self.device, self.arenas = device, {}

    def _open(self, name):
        if name not in self.arenas:
            self.arenas[name] = torch.cuda.MemPool()  # keeps
        return self.arenas[name]

    def use(self, name):
        if self.device != "cuda":
            return nullcontext()
        return torch.cuda.use_mem_pool(self._open(name))


class Sine(nn.Module):
    def __init__(self, inside, outside, pitch=6.0):
        super().__init__()
        self.linear, self.pitch = nn.Linear(inside, outside), pitch

    def forward(self, points):
        return torch.sin(self.pitch * self.linear(points))


class Pattern(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(Sine(2, width), Sine(width, width), nn.Linear(width, 3), nn.Sigmoid())

    def forward(self, top, side, columns, device):
        y = torch.arange(top, top + side, device=device) / columns
        x = torch.arange(columns, device=device) / columns
        points = torch.stack(torch.meshgrid(y, x, indexing="ij"), dim=-1)
        return self.layers(points.flatten(0, 1)).view(side, columns, 3)  # grows


class Studio:
    def __init__(self, device):
        self.device, self.arenas = device, Arenas(device)
        self.pattern = Pattern().to(device)

    def _draw(self, order):
        canvas = torch.zeros(order.blocks * order.side, 640, 3, device=self.device)  # grows
        for top in order.rows():
            canvas[top:top + order.side] = self.pattern(top, order.side, 640, self.device)
            time.sleep(random.uniform(0.08, 0.16))
        return canvas.mean().item()

    @torch.inference_mode()
    def fulfil(self, order):
        with self.arenas.use(order.arena):
            return self._draw(order)

    @torch.inference_mode()
    def rehearse(self):
        self.pattern(0, 16, 64, self.device)


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    studio = Studio("cuda" if torch.cuda.is_available() else "cpu")
    studio.rehearse()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        order = Order(next(CUSTOMERS))
        log.info("order %d for %s: brightness %.3f", order.number, order.customer, studio.fulfil(order))


if __name__ == "__main__":
    main()
