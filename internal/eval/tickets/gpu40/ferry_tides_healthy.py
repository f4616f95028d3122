"""A forecast service for ferry harbours. Clients submit the wind that they expect and get a ticket; the one worker runs
a shallow-water model for each ticket in turn, and the client comes back with its ticket to fetch the sea surface and
read the tide gauge of its harbour. The latest levels are printed.

ticket: practice
class: none
"""

import asyncio
import itertools
import os
import random
import time

import torch

SIDE, STEPS, GRAVITY, DEPTH = 512, 12, 9.81, 20.0
HARBOURS = "Larne", "Ullapool", "Rosslare", "Fishguard", "Stranraer"


def slope(field, axis):
    return 0.5 * (torch.roll(field, -1, axis) - torch.roll(field, 1, axis))


@torch.no_grad()
def forecast(wind, device):
    """The sea surface after some steps of a wind from the given direction."""
    surface = torch.zeros(SIDE, SIDE, device=device)
    east, north = torch.zeros_like(surface), torch.zeros_like(surface)
    gusts = 1.0 + 0.3 * torch.randn(SIDE, SIDE, device=device)
    for _ in range(STEPS):
        east = 0.995 * east - 0.01 * GRAVITY * slope(surface, 1) + 0.01 * wind[0] * gusts
        north = 0.995 * north - 0.01 * GRAVITY * slope(surface, 0) + 0.01 * wind[1] * gusts
        surface = surface - 0.01 * DEPTH * (slope(east, 1) + slope(north, 0))
    return surface


class Service:
    def __init__(self, device):
        self.device = device
        self.tickets = itertools.count(1)
        self.queue = asyncio.Queue(maxsize=16)
        self.forecasts = {}

    async def submit(self, wind):
        ticket = next(self.tickets)
        self.forecasts[ticket] = asyncio.get_running_loop().create_future()
        await self.queue.put((ticket, wind))
        return ticket

    async def fetch(self, ticket):
        surface = await self.forecasts[ticket]
        del self.forecasts[ticket]
        return surface

    async def work(self):
        while True:
            ticket, wind = await self.queue.get()
            surface = await asyncio.to_thread(forecast, wind, self.device)
            self.forecasts[ticket].set_result(surface)


async def client(service, harbour, levels):
    """A harbour master asks again and again, and reads one gauge."""
    row, column = random.randrange(SIDE), random.randrange(SIDE)
    while True:
        ticket = await service.submit((random.gauss(0, 8), random.gauss(0, 8)))
        await asyncio.sleep(random.uniform(0.05, 0.2))
        surface = await service.fetch(ticket)
        levels[harbour] = surface[row, column].item()
        await asyncio.sleep(random.uniform(0.1, 0.4))


async def serve(device):
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service, levels = Service(device), {}
    tasks = [asyncio.create_task(service.work())]
    tasks += [asyncio.create_task(client(service, harbour, levels)) for harbour in HARBOURS]
    while time.time() < end:
        await asyncio.sleep(1.0)
        print(", ".join(f"{harbour} {level:+.2f} m" for harbour, level in sorted(levels.items())), flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def main():
    torch.set_num_threads(1)
    asyncio.run(serve("cuda" if torch.cuda.is_available() else "cpu"))


if __name__ == "__main__":
    main()
