"""Forecast service of a bicycle sharing scheme.

Vans and street crews ask how many bicycles will stand at the docks of a district in the coming day.  Each
question is answered by a coroutine of its own: it looks up the counts of the district, lets a small recurrent
model play out a few hundred possible days, and passes the quantiles on to the dispatcher through a queue.
The dispatcher decides where a van should bring bicycles.

    ticket: practice
    class: none
"""
import asyncio
import contextlib
import os
import random
import time

import torch
from torch import nn

DISTRICTS = 12
DOCKS = 36
HOURS = 24
DAYS = 240
QUESTION_S = 0.13


class DemandModel(nn.Module):
    """One hour on: from the present counts to mean and spread of the change."""

    def __init__(self, width=32):
        super().__init__()
        self.cell = nn.GRUCell(DOCKS + 1, width)
        self.change = nn.Linear(width, 2 * DOCKS)
        self.width = width

    def forward(self, counts, hour, state):
        clock = torch.full((counts.shape[0], 1), hour / HOURS)
        state = self.cell(torch.cat([counts / 20.0, clock], 1), state)
        mean, spread = self.change(state).chunk(2, 1)
        return mean, torch.nn.functional.softplus(spread), state


class ForecastDesk:
    def __init__(self):
        self.model = DemandModel().eval().requires_grad_(False)
        self.counts = torch.randint(2, 18, (DISTRICTS, DOCKS)).float()
        self.answers = asyncio.Queue(maxsize=16)
        self.pending = set()
        self.asked = 0

    def ask(self, district):
        """Starts the answer; the set holds on to the task, as the loop has only a weak reference."""
        self.asked += 1
        task = asyncio.create_task(self.answer(district, self.asked))
        self.pending.add(task)
        task.add_done_callback(self.pending.discard)
        return task

    async def answer(self, district, ticket):
        await asyncio.sleep(random.uniform(0.01, 0.05))
        days = await self.play_out(self.counts[district])
        low, high = torch.quantile(days[:, -1], torch.tensor([0.1, 0.9]), dim=0)
        await self.answers.put((ticket, district, low, high))
        return days

    async def play_out(self, start):
        days = torch.empty(DAYS, HOURS, DOCKS)
        counts = start.expand(DAYS, DOCKS).clone()
        state = torch.zeros(DAYS, self.model.width)
        for hour in range(HOURS):
            mean, spread, state = self.model(counts, hour, state)
            counts = (counts + mean + spread * torch.randn_like(counts)).clamp_(0.0, 24.0)
            days[:, hour] = counts
            if hour % 8 == 7:
                await asyncio.sleep(0)
        return days


class Dispatcher:
    """Sends a van to the dock that is most likely to run empty."""

    def __init__(self, desk):
        self.desk = desk
        self.trips = {district: 0 for district in range(DISTRICTS)}
        self.last = None

    async def run(self):
        while True:
            ticket, district, low, high = await self.desk.answers.get()
            dock = int(low.argmin())
            if low[dock] < 3.0:
                self.trips[district] += 1
                self.desk.counts[district, dock] += 1.0
                self.desk.counts[district].clamp_(max=20.0)
            self.last = (ticket, district, dock, float(high[dock] - low[dock]))


async def serve(end):
    desk = ForecastDesk()
    dispatcher = Dispatcher(desk)
    vans = asyncio.create_task(dispatcher.run())
    while time.time() < end:
        desk.ask(random.randrange(DISTRICTS))
        await asyncio.sleep(QUESTION_S)
        if desk.asked % 16 == 0 and dispatcher.last:
            ticket, district, dock, band = dispatcher.last
            print(f"answer {ticket}: district {district}, van to dock {dock}, band {band:.1f}, "
                  f"{sum(dispatcher.trips.values())} trips", flush=True)
    await asyncio.gather(*list(desk.pending))
    vans.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await vans


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    random.seed(31)
    asyncio.run(serve(end))


if __name__ == "__main__":
    main()
