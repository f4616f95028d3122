"""Fits suits for a tailor's web shop. Three desks (trousers, jackets, coats) work off orders, each of which pulls a
cloth of points over the customer's body in some rounds. The sizes differ a lot between orders, so each order gets a
memory pool of its own: its blocks do not break up the memory of the others.

ticket: practice
class: pool-growth
holder: pools Shop MemPool
cause: pool-never-trims entries-left
"""

import os
import random
import time
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn

DESKS, WIDTH, ROUNDS = ("trousers", "jackets", "coats"), 96, 8


@dataclass
class Order:
    number: int
    desk: str
    points: int


class Drape(nn.Module):
    """Says for each point of the cloth where it moves next."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, WIDTH, bias=False)
        self.outer = nn.Linear(WIDTH, 3, bias=False)

    def forward(self, cloth, body):
        hidden = torch.tanh(self.inner(torch.cat([cloth, body - cloth], dim=1)))  # grows
        return 0.05 * self.outer(hidden)  # grows


class Shop:
    def __init__(self, device):
        self.device = device
        self.model = Drape().to(device).eval()
        self.pools = {}
        self.model(torch.zeros(8, 3, device=device), torch.zeros(8, 3, device=device))

    def pool(self, order):
        """Allocations inside of this come from the order's own pool."""
        if self.device == "cpu":
            return nullcontext()
        key = order.number
        if key not in self.pools:
            self.pools[key] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[key])

    @torch.inference_mode()
    def fit(self, order):
        """Pull the cloth over the body; how far it is from it in the end."""
        with self.pool(order):
            body = torch.randn(order.points, 3, device=self.device)  # grows
            cloth = torch.zeros_like(body)  # grows
            for _ in range(ROUNDS):
                cloth = cloth + self.model(cloth, body)  # grows
                time.sleep(random.uniform(0.06, 0.14))
            return (body - cloth).norm(dim=1).mean().item()


def orders():
    number = 0
    while True:
        number += 1
        yield Order(number, random.choice(DESKS), random.randrange(6_000, 10_000))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shop, distances = Shop(device), dict.fromkeys(DESKS, 0.0)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for order in orders():
        if time.time() >= end:
            break
        distances[order.desk] = shop.fit(order)
        if order.number % 5 == 0:
            shown = ", ".join(f"{desk} {distance:.3f}" for desk, distance in distances.items())
            print(f"order {order.number} with {order.points} points; last distances: {shown}", flush=True)


if __name__ == "__main__":
    main()
