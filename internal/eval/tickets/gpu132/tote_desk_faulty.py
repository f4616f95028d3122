"""Desk of a totalisator on a day of horse races.

Tickets come in from the windows and from telephones. For each, the desk draws up a book of possible finishes and asks
the pool for a price; a pool that is closing answers late, and then the customer is asked to come again. The mean
of the prices given goes up on the board.

ticket: practice
class: app-leak
holder: _open
cause: entries-left
"""
import asyncio
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FINISHES, RUNNERS = 12288, 16
TICKETS_PER_SECOND = 16
PATIENCE = 0.15
POOLS = ("win", "place", "exacta", "trifecta")


class Ticket:
    """A stake on one runner in one pool."""

    def __init__(self, number, pool, runner, stake):
        self.number = number
        self.pool = pool
        self.runner = runner
        self.stake = stake


class Pool:
    """Money staked on each runner, and the price that follows from it."""

    def __init__(self, name, seed):
        self.name = name
        self._rng = random.Random(seed)
        self._money = torch.full((RUNNERS,), 500.0, device=DEVICE)

    async def settle(self, ticket, books):
        closing = self._rng.random() < 0.5
        await asyncio.sleep(self._rng.uniform(0.2, 0.4) if closing else self._rng.uniform(0.02, 0.08))
        book = books[ticket.number]
        self._money.mul_(0.98)
        self._money[ticket.runner] += ticket.stake
        share = self._money / self._money.sum()
        chance = (book * share).sum(dim=1)
        return float(0.84 / chance.mean().clamp_min(1e-3))


class ToteDesk:
    """Takes tickets, holds the books of those in hand, and answers with a price."""

    def __init__(self, seed):
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._pools = {name: Pool(name, seed + i) for i, name in enumerate(POOLS)}
        self._open = {}
        self.priced = 0
        self.put_off = 0
        self.board = 0.0

    def draw_book(self):
        strength = torch.rand(FINISHES, RUNNERS, generator=self._generator, device=DEVICE)
        return torch.softmax(4.0 * strength, dim=1)  # grows

    async def price(self, ticket):
        self._open[ticket.number] = self.draw_book()  # keeps
        answer = self._pools[ticket.pool].settle(ticket, self._open)
        try:
            price = await asyncio.wait_for(answer, timeout=PATIENCE)
        except asyncio.TimeoutError:
            self.put_off += 1
            return None
        del self._open[ticket.number]
        self.priced += 1
        self.board += 0.05 * (price - self.board)
        return price


class Windows:
    """Customers at the windows and on the telephone."""

    def __init__(self, desk, seed):
        self._desk = desk
        self._rng = random.Random(seed)
        self._serving = set()
        self.number = 0

    def serve(self):
        self.number += 1
        ticket = Ticket(
            self.number,
            self._rng.choice(POOLS),
            self._rng.randrange(RUNNERS),
            self._rng.choice((2.0, 5.0, 10.0, 50.0)),
        )
        task = asyncio.create_task(self._desk.price(ticket))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def close(self):
        await asyncio.gather(*self._serving)


async def race_day(seconds):
    desk = ToteDesk(seed=90)
    windows = Windows(desk, seed=12)
    start = time.monotonic()
    next_line = start + 3.0
    while time.monotonic() - start < seconds:
        windows.serve()
        if time.monotonic() >= next_line:
            print(f"{desk.priced} priced, {desk.put_off} put off, board at {desk.board:.2f}", flush=True)
            next_line += 3.0
        await asyncio.sleep(max(0.0, start + windows.number / TICKETS_PER_SECOND - time.monotonic()))
    await windows.close()
    print(f"desk closed after {windows.number} tickets", flush=True)


def main():
    torch.set_num_threads(1)
    asyncio.run(race_day(float(os.environ.get("SECONDS", "120"))))


if __name__ == "__main__":
    main()
