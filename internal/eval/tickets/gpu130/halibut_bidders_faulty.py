"""Clock auction of a fish market, as an asyncio service.

Buyers log in from the quay, each with a table of what a crate of halibut is worth to them by grade, weight
and hour. The price of a lot falls on the clock until a buyer presses the button. Buyers differ in patience:
some leave the hall before the clock has come down to what they would pay.

ticket: practice
class: app-leak
holder: live
cause: sessions-kept
"""
import asyncio
import os
import time

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ARRIVALS_PER_SECOND = 12
GRADES, WEIGHTS, HOURS = 64, 64, 64
TICK = 0.1
DROP_PER_TICK = 0.05


class Clock:
    """The falling price in euros a kilo, wound up again for each lot."""

    def __init__(self, rng):
        self._rng = rng
        self.price = 0.0
        self.lot = 0
        self.crate = (0, 0, 0)
        self.next_lot()

    def next_lot(self):
        self.lot += 1
        self.price = 30.0
        self.crate = tuple(int(n) for n in self._rng.integers(0, GRADES, size=3))

    async def run(self):
        while True:
            await asyncio.sleep(TICK)
            self.price *= 1.0 - DROP_PER_TICK
            if self.price < 8.0:
                self.next_lot()


class BidderSession:
    def __init__(self, number, budget, patience, generator):
        self.number = number
        self.budget = budget
        self.patience = patience
        taste = torch.rand(GRADES, generator=generator).to(DEVICE)[:, None, None]
        appetite = torch.rand(WEIGHTS, generator=generator).to(DEVICE)[None, :, None]
        morning = torch.linspace(1.0, 0.7, HOURS, device=DEVICE)
        self.worth = budget * (0.6 + 0.2 * taste + 0.2 * appetite) * morning  # grows

    def would_pay(self, crate):
        return float(self.worth[crate])


class AuctionHall:
    """Takes buyers in, lets them watch the clock and settles their purchases."""

    def __init__(self, clock, seed):
        self.clock = clock
        self.live = {}
        self.sold = 0
        self.walked_out = 0
        self.takings = 0.0
        self._rng = np.random.default_rng(seed)
        self._generator = torch.Generator().manual_seed(seed)
        self._numbers = 0

    def admit(self):
        self._numbers += 1
        budget = float(self._rng.uniform(16.0, 30.0))
        patience = 0.35 if self._numbers % 2 else 5.0
        session = BidderSession(self._numbers, budget, patience, self._generator)
        self.live[session.number] = session  # keeps
        return session

    async def _watch(self, session):
        await asyncio.sleep(0.4)
        while session.would_pay(self.clock.crate) < self.clock.price:
            await asyncio.sleep(TICK)
        return self.clock.price

    async def attend(self):
        session = self.admit()
        try:
            price = await asyncio.wait_for(self._watch(session), timeout=session.patience)
        except asyncio.TimeoutError:
            self.walked_out += 1
            return
        self.takings += price * 20.0
        self.sold += 1
        self.live.pop(session.number)


async def arrivals(hall, until):
    attending = set()
    while time.monotonic() < until:
        task = asyncio.create_task(hall.attend())
        attending.add(task)
        task.add_done_callback(attending.discard)
        await asyncio.sleep(1.0 / ARRIVALS_PER_SECOND)
    await asyncio.gather(*attending)


async def announce(hall):
    while True:
        await asyncio.sleep(3.0)
        print(f"lot {hall.clock.lot}: clock at {hall.clock.price:.2f}, sold {hall.sold}, "
              f"walked out {hall.walked_out}", flush=True)


async def market_day():
    clock = Clock(np.random.default_rng(52))
    hall = AuctionHall(clock, seed=53)
    background = [asyncio.create_task(clock.run()), asyncio.create_task(announce(hall))]
    await arrivals(hall, time.monotonic() + SECONDS)
    for task in background:
        task.cancel()
    await asyncio.gather(*background, return_exceptions=True)
    return hall


def main():
    torch.set_num_threads(1)
    hall = asyncio.run(market_day())
    print(f"hall closed: {hall.sold} lots sold for {hall.takings:.0f} euros", flush=True)


if __name__ == "__main__":
    main()
