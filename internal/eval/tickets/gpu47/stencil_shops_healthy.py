"""Four print shops send pictures that are to become stencils: smoothed, cut into a few tones and outlined. Shops differ
in the size of their pictures, and so that one does not scatter the memory of another, each shop has a memory pool of
its own, out of which its pictures are worked on.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter
from contextlib import nullcontext
from itertools import cycle
from typing import NamedTuple

import torch
from torch.nn import functional as F

SIDES = {"north": 448, "harbour": 512, "mill": 576, "station": 544}
TONES = 5


class Client(NamedTuple):
    shop: str
    address: tuple


class Workshop:
    def __init__(self, device):
        self.device = device
        self.pools = {}
        self.done = Counter()

    def pool(self, client):
        """The context in which a client's memory is taken."""
        if self.device == "cpu":
            return nullcontext()
        if client.shop not in self.pools:
            self.pools[client.shop] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[client.shop])

    @torch.no_grad()
    def stencil(self, client, picture):
        """The outlines between the tones, as a mask on the host, and how much of it is ink."""
        with self.pool(client):
            smooth = picture.to(self.device)[None]
            for _ in range(3):
                smooth = F.avg_pool2d(smooth, 7, stride=1, padding=3, count_include_pad=False)
            tones = (smooth.mean(dim=1, keepdim=True) * TONES).floor()
            edge = F.max_pool2d(tones, 3, stride=1, padding=1) - tones
            mask = (edge > 0).cpu()
            del smooth, tones, edge
        self.done[client.shop] += 1
        return mask[0, 0], mask.float().mean().item()


def connections():
    """Clients as they connect, each with one to three pictures."""
    for shop in cycle(SIDES):
        client = Client(shop, (f"10.0.7.{20 + len(shop)}", random.randrange(32768, 61000)))
        side = SIDES[shop]
        rough = [torch.rand(1, 3, 12, 12) for _ in range(random.randrange(1, 4))]
        yield client, [F.interpolate(picture, size=(side, side), mode="bilinear")[0] for picture in rough]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    workshop, ink, served = Workshop(device), 0.0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for client, pictures in connections():
        if time.time() > end:
            break
        for picture in pictures:
            _, share = workshop.stencil(client, picture)
            ink += share
            time.sleep(random.uniform(0.2, 0.4))
        served += 1
        if served % 8 == 0:
            pictures_done = sum(workshop.done.values())
            print(f"{served} connections {dict(workshop.done)}, ink {ink / pictures_done:.3f}", flush=True)


if __name__ == "__main__":
    main()
