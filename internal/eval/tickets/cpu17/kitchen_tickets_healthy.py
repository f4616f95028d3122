"""In the kitchen of a car ferry the decks send orders down to the pass, each with a picture of the tray as laid.
An expediter takes the orders from the rail in turn, checks the portions in the picture and calls the cooks.
At meal times all decks order together, and the rail is long.

ticket: practice
class: none
"""
import asyncio
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
REPORT_EVERY_S = 2.0
PATIENCE_S = 4.0
CHECK_S = 0.16
ROWS, COLUMNS = 210, 360
DECKS = {"saloon": 7.0, "lounge": 5.0, "truckers": 5.0, "crew": 3.0}
DISHES = ("fish pie", "soup", "sausages", "salad", "curry")


@dataclass
class Order:
    deck: str
    dish: str
    hung: float
    tray: np.ndarray


class TrayCamera:
    """Pictures of laid trays: a plain tray with plates of differing fill."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def shoot(self):
        tray = self._rng.integers(90, 130, (ROWS, COLUMNS, 3), dtype=np.uint8)
        for centre in range(60, COLUMNS, 100):
            fill = int(self._rng.integers(20, 60))
            tray[60:60 + fill, centre - 30:centre + 30] = self._rng.integers(180, 250, 3, dtype=np.uint8)
        return tray


class Pass:
    """The counter between the decks and the cooks."""

    def __init__(self):
        self.rail = asyncio.Queue()
        self.called = dict.fromkeys(DISHES, 0)
        self.returned = 0
        self.lapsed = 0

    async def hang(self, order):
        await self.rail.put(order)

    async def take(self):
        order = await self.rail.get()
        while time.monotonic() - order.hung > PATIENCE_S:
            self.lapsed += 1
            order = await self.rail.get()
        return order

    def check(self, order):
        bright = (order.tray.mean(axis=2) > 160).mean()
        if bright < 0.05:
            self.returned += 1
        else:
            self.called[order.dish] += 1
        return float(bright)


class Deck:
    """One deck's counter: sends orders at its own pace, with a little jitter."""

    def __init__(self, name, orders_per_second, seed):
        self.name = name
        self._gap = 1.0 / orders_per_second
        self._rng = np.random.default_rng(seed)
        self._camera = TrayCamera(seed + 100)
        self.sent = 0

    async def serve(self, counter, ends):
        while time.monotonic() < ends:
            dish = DISHES[int(self._rng.integers(len(DISHES)))]
            await counter.hang(Order(self.name, dish, time.monotonic(), self._camera.shoot()))
            self.sent += 1
            await asyncio.sleep(self._gap * float(self._rng.uniform(0.8, 1.2)))


async def expedite(counter):
    while True:
        order = await counter.take()
        counter.check(order)
        await asyncio.sleep(CHECK_S)


async def report(counter, decks, began):
    while True:
        await asyncio.sleep(REPORT_EVERY_S)
        sent = sum(deck.sent for deck in decks)
        busiest = max(decks, key=lambda deck: deck.sent).name
        print(f"{time.monotonic() - began:6.1f} s  {sent} orders sent  {sum(counter.called.values())} called  "
              f"{counter.returned} sent back  busiest {busiest}", flush=True)


async def run_kitchen():
    began = time.monotonic()
    counter = Pass()
    decks = [Deck(name, pace, seed) for seed, (name, pace) in enumerate(DECKS.items(), start=17)]
    helpers = [asyncio.create_task(expedite(counter)), asyncio.create_task(report(counter, decks, began))]
    try:
        await asyncio.gather(*(deck.serve(counter, began + SECONDS) for deck in decks))
    finally:
        for helper in helpers:
            helper.cancel()
        await asyncio.gather(*helpers, return_exceptions=True)
    favourite = max(counter.called, key=counter.called.get)
    print(f"kitchen shut: {sum(counter.called.values())} called, {counter.returned} sent back, "
          f"{counter.lapsed} lapsed, most of all {favourite}", flush=True)


def main():
    asyncio.run(run_kitchen())


if __name__ == "__main__":
    main()
