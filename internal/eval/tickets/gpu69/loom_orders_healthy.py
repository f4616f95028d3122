"""A weaving mill has its orders drawn before the looms start: from the threading and the colours of an order it draws
the cloth, softens it as wool does, and counts how much yarn of each colour shows. So that the drawings for one loom
do not tear holes into the memory of another's, each loom has a memory pool of its own.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time
from dataclasses import dataclass

import torch
from torch.nn import functional as F

HEIGHT, WIDTH, YARNS, LOOMS = 768, 512, 4, 3


@dataclass
class Order:
    number: int
    loom: int
    threading: list
    lift: list
    yarns: list


def orders():
    """Twills and pointed twills, for the looms in turn."""
    number = 1000
    while True:
        harnesses = random.choice((4, 6, 8))
        threading = list(range(harnesses)) + random.choice(([], list(range(harnesses - 2, 0, -1))))
        every = range(harnesses)
        lift = [[(row + harness) % harnesses < harnesses // 2 for harness in every] for row in every]
        yield Order(number, number % LOOMS, threading, lift, random.sample(range(16), YARNS))
        number += 1


class Studio:
    """Draws cloth, on the card if there is one."""

    def __init__(self, device):
        self.device = device
        self.pools = {}

    def room(self, order):
        """The memory in which an order is drawn."""
        if self.device != "cuda":
            return contextlib.nullcontext()
        if order.loom not in self.pools:
            self.pools[order.loom] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[order.loom])

    @torch.no_grad()
    def draw(self, order):
        """The share of each yarn in the face of the cloth."""
        with self.room(order):
            threading = torch.tensor(order.threading, device=self.device)
            lift = torch.tensor(order.lift, device=self.device)
            columns = threading[torch.arange(WIDTH, device=self.device) % len(threading)]
            rows = torch.arange(HEIGHT, device=self.device) % len(lift)
            up = lift[rows[:, None], columns[None, :]].float()
            warp = torch.arange(WIDTH, device=self.device) // 24 % 2
            weft = torch.arange(HEIGHT, device=self.device) // 24 % 2
            shares = []
            for yarn in range(YARNS):
                shown = up * (warp == yarn) + (1 - up) * (weft == yarn - 2)[:, None]
                soft = F.avg_pool2d(shown[None, None], 5, stride=1, padding=2)
                shares.append(soft.mean().item())
        return shares


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    studio = Studio(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for order in orders():
        if time.time() >= end:
            break
        shares = studio.draw(order)
        if order.number % 10 == 0:
            text = ", ".join(f"yarn {yarn} {share:.3f}" for yarn, share in zip(order.yarns, shares))
            print(f"order {order.number}, loom {order.loom}: {text}", flush=True)
        time.sleep(random.uniform(0.5, 0.9))


if __name__ == "__main__":
    main()
