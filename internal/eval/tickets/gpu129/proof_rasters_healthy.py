"""Proofs of pages in a small print room.

Orders come in with several pages, and a raster processor turns each page
into a halftone for the proofer while the desk takes further orders. A
customer often sends a corrected page shortly after the first one; then
only the corrected page is proofed and the earlier one is passed over. The
desk notes the coverage of ink for each proof.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 4.0
PAGE = (768, 512)
PAGES = 2
QUEUE = 3
STOCKS = 24


@dataclass
class Page:
    number: int
    revision: int
    stock: int


@dataclass
class Order:
    number: int
    pages: list = field(default_factory=list)

    def latest(self, page):
        return max(other.revision for other in self.pages if other.number == page.number)


class PaperStocks:
    """Paper texture and screen for each stock, loaded once."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.texture = torch.rand((STOCKS, *PAGE), generator=generator).mul_(0.1).to(DEVICE)
        rows = torch.arange(PAGE[0], dtype=torch.float32, device=DEVICE)[:, None]
        columns = torch.arange(PAGE[1], dtype=torch.float32, device=DEVICE)[None, :]
        self.screen = 0.5 + 0.25 * (torch.sin(rows * 0.9) + torch.sin(columns * 0.9))
        self.rows = rows
        self.columns = columns


def rasterise(stocks, stock, seed):
    """Halftone of one page on its stock."""
    numbers = random.Random(seed)
    down = torch.cos(stocks.rows / numbers.uniform(40.0, 120.0))
    across = torch.sin(stocks.columns / numbers.uniform(30.0, 90.0))
    tone = (down * across).mul_(0.4).add_(0.5).sub_(stocks.texture[stock])
    return torch.sigmoid((tone - stocks.screen) * 12.0)


class RasterProcessor:
    """Renders pages in the background and hands out finished proofs."""

    def __init__(self, stocks):
        self._stocks = stocks
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rip")
        self._renders = {}

    def submit(self, order, page):
        seed = order.number * 100 + page.number * 10 + page.revision
        key = (order.number, page.number, page.revision)
        self._renders[key] = self._pool.submit(rasterise, self._stocks, page.stock, seed)

    def proofs(self, order):
        for page in order.pages:
            key = (order.number, page.number, page.revision)
            render = self._renders.pop(key)
            if page.revision < order.latest(page):
                continue
            yield page, render.result(timeout=30.0)

    def close(self):
        self._pool.shutdown(wait=True)


class Desk:
    """Takes orders, sends their pages off and measures the proofs."""

    def __init__(self, processor, seed):
        self._processor = processor
        self._random = random.Random(seed)
        self._orders = deque()
        self._taken = 0
        self.proofed = 0
        self.coverage = 0.5

    def take_order(self):
        self._taken += 1
        order = Order(self._taken)
        for number in range(PAGES):
            order.pages.append(Page(number, 0, self._random.randrange(STOCKS)))
        corrected = self._random.choice(order.pages)
        order.pages.append(Page(corrected.number, 1, corrected.stock))
        for page in order.pages:
            self._processor.submit(order, page)
        self._orders.append(order)

    def hand_out(self):
        while len(self._orders) > QUEUE:
            order = self._orders.popleft()
            for _, proof in self._processor.proofs(order):
                self.coverage = 0.95 * self.coverage + 0.05 * float(proof.mean())
                self.proofed += 1


def main():
    processor = RasterProcessor(PaperStocks(seed=5))
    desk = Desk(processor, seed=6)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        desk.take_order()
        desk.hand_out()
        rounds += 1
        if rounds % 12 == 0:
            print(f"orders {rounds:4d}  proofs {desk.proofed:4d}  coverage {desk.coverage:.3f}", flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    processor.close()
    print(f"print room closes with {desk.proofed} proofs", flush=True)


if __name__ == "__main__":
    main()
