"""Weavers order patterns. A network that knows colours by place paints each pattern strip by strip. The work for a
weaver goes through a memory pool of its own, so that one who needs much cannot cut the blocks of the others.

ticket: practice
class: none
"""

import contextlib
import itertools
import os
import time

import torch
from torch import nn

WEAVERS = "Ines", "Tomas", "Aoife"
WIDTH, STRIPS, HEIGHT, BREADTH = 64, 5, 96, 96


class Order:
    numbers = itertools.count(1)

    def __init__(self, weaver):
        self.weaver, self.number = weaver, next(self.numbers)
        self.seed = torch.randn(8)


class Painter(nn.Module):
    """Colours by place, under the seed of the order."""

    def __init__(self):
        super().__init__()
        self.place = nn.Linear(2, WIDTH)
        self.seed = nn.Linear(8, WIDTH)
        self.hidden = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.colour = nn.Linear(WIDTH, 3)

    def forward(self, places, seed):
        values = torch.sin(6 * self.place(places) + self.seed(seed))
        for layer in self.hidden:
            values = torch.sin(layer(values))
        return torch.sigmoid(self.colour(values))


class Workshop:
    def __init__(self, device):
        self.device = device
        self.painter = Painter().to(device).eval()
        self.pools = {}
        rows, columns = torch.meshgrid(torch.linspace(0, 1, HEIGHT), torch.linspace(0, 1, BREADTH), indexing="ij")
        self.places = torch.stack([rows, columns], dim=-1).view(-1, 2).to(device)

    def pool(self, order):
        """The memory pool that the work for an order uses."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        name = order.weaver
        if name not in self.pools:
            self.pools[name] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[name])

    @torch.inference_mode()
    def strip(self, order, index):
        seed = order.seed.to(self.device)
        shift = torch.tensor([float(index), 0.0], device=self.device)
        with self.pool(order):
            colours = self.painter(self.places + shift, seed)
            return colours.view(HEIGHT, BREADTH, 3).cpu()

    def weave(self, order):
        strips = []
        for index in range(STRIPS):
            strips.append(self.strip(order, index))
            time.sleep(0.2)
        return torch.cat(strips)

    @torch.inference_mode()
    def warm_up(self):
        self.painter(self.places, torch.zeros(8, device=self.device))


def main():
    torch.set_num_threads(1)
    workshop = Workshop("cuda" if torch.cuda.is_available() else "cpu")
    workshop.warm_up()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for weaver in itertools.cycle(WEAVERS):
        if time.time() >= end:
            break
        order = Order(weaver)
        pattern = workshop.weave(order)
        if order.number % 4 == 0:
            red, green, blue = pattern.mean(dim=(0, 1)).tolist()
            print(f"order {order.number} for {weaver}: red {red:.2f}, green {green:.2f}, blue {blue:.2f}", flush=True)


if __name__ == "__main__":
    main()
