"""A desk that prices barrier options. Four clients send orders, each with the shocks of its own market model; the desk
runs the paths on the GPU, quotes, and waits for the client's word. An order without that word is chased at the close.

ticket: practice
class: host-growth
holder: scheduled TimerHandle order Order
cause: timers-left callbacks-left
"""

import asyncio
import itertools
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

DAYS, PATHS = 250, 1_500
CLOSE = 7.5 * 3600


@dataclass
class Order:
    number: int
    client: str
    strike: float
    barrier: float
    shocks: np.ndarray


class Desk:
    def __init__(self, device):
        self.device, self.worker = device, ThreadPoolExecutor(1)
        self.confirmed, self.quoted = 0, 0.0

    @torch.no_grad()
    def price(self, order):
        """A down-and-out call: the paths that fall to the barrier are worth nothing."""
        shocks = torch.from_numpy(order.shocks).to(self.device)
        path = 100.0 * torch.exp(torch.cumsum(shocks - 0.5 * shocks.var(), dim=0))
        alive = path.amin(dim=0) > order.barrier
        return ((path[-1] - order.strike).clamp(min=0) * alive).mean().item()

    def chase(self, order):
        print(f"order {order.number}: {order.client} has not confirmed", flush=True)

    async def quote(self, order, confirm):
        loop = asyncio.get_running_loop()
        loop.call_later(CLOSE, self.chase, order)  # keeps
        price = await loop.run_in_executor(self.worker, self.price, order)
        await confirm(price)
        self.confirmed += 1
        self.quoted += price


async def client(name, desk, numbers, end):
    rng = np.random.default_rng(len(name))

    async def confirm(price):
        await asyncio.sleep(random.uniform(0.02, 0.1))

    while time.time() < end:
        volatility = random.uniform(0.01, 0.03)
        shocks = volatility * rng.standard_normal((DAYS, PATHS), dtype=np.float32)  # grows
        barrier = random.uniform(60.0, 85.0)
        order = Order(next(numbers), name, random.uniform(90.0, 110.0), barrier, shocks)
        await desk.quote(order, confirm)
        await asyncio.sleep(random.uniform(0.2, 0.6))


async def report(desk, end):
    while time.time() < end:
        await asyncio.sleep(1.0)
        mean = desk.quoted / max(desk.confirmed, 1)
        print(f"{desk.confirmed} orders, mean price {mean:.2f}", flush=True)


async def trade(device):
    desk, numbers = Desk(device), itertools.count(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    clients = [client(name, desk, numbers, end) for name in ("Ash", "Birch", "Willow", "Sycamore")]
    await asyncio.gather(report(desk, end), *clients)
    desk.worker.shutdown()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    asyncio.run(trade(device))


if __name__ == "__main__":
    main()
