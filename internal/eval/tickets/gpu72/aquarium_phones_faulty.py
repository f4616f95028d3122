"""Visitors of an aquarium hold up their phones, and a server tells them where in the picture fish are. Pictures that
come within the same fifth of a second go through the network together. A phone asks with a ticket, waits for its answer
as long as its owner has patience, and fetches it.

ticket: practice
class: host-growth
holder: answers Server
cause: results-kept entries-left
"""

import asyncio
import itertools
import os
import random
import time

import torch
from torch import nn

SIDE, WINDOW = 384, 0.2


def fish_finder():
    """A heat map of fish, as large as the picture."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 8, stride=8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 1, 3, padding=1), nn.Sigmoid(),
        nn.Upsample(size=(SIDE, SIDE), mode="bilinear", align_corners=False),
    )


class Server:
    def __init__(self, device):
        self.device = device
        self.model = fish_finder().to(device).eval()
        self.queue = asyncio.Queue(maxsize=64)
        self.tickets = itertools.count()
        self.arrived = {}
        self.answers = {}

    @torch.no_grad()
    def find(self, pictures):
        heat = self.model(torch.stack(pictures).to(self.device) / 255)
        return heat[:, 0].cpu().numpy()

    async def work(self):
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(WINDOW)
            batch = [self.queue.get_nowait() for _ in range(self.queue.qsize())]
            if not batch:
                continue
            tickets, pictures = zip(*batch)
            maps = await loop.run_in_executor(None, self.find, pictures)
            for ticket, heat in zip(tickets, maps):
                self.answers[ticket] = heat.copy()  # grows keeps
                if ticket in self.arrived:
                    self.arrived[ticket].set()

    async def ask(self, picture, patience):
        """The heat map of a picture, or None if it took too long."""
        ticket = next(self.tickets)
        arrived = self.arrived[ticket] = asyncio.Event()
        await self.queue.put((ticket, picture))
        try:
            await asyncio.wait_for(arrived.wait(), patience)
            return self.answers.pop(ticket)
        except asyncio.TimeoutError:
            return None
        finally:
            del self.arrived[ticket]


async def phone(server, counts, end):
    """A visitor after the other with the same phone, some in more of a hurry than others."""
    while time.time() < end:
        picture = torch.randint(256, (3, SIDE, SIDE), dtype=torch.uint8)
        heat = await server.ask(picture, patience=random.uniform(0.02, 0.4))
        counts["gave up" if heat is None else "answered"] += 1
        await asyncio.sleep(random.uniform(0.05, 0.3))


async def report(server, counts, end):
    while time.time() < end:
        await asyncio.sleep(1.0)
        print(counts, len(server.arrived), "waiting", flush=True)


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    server, counts = Server(device), {"answered": 0, "gave up": 0}
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    worker = asyncio.create_task(server.work())
    await asyncio.gather(report(server, counts, end), *(phone(server, counts, end) for _ in range(14)))
    worker.cancel()


if __name__ == "__main__":
    asyncio.run(main())
