"""Night trams on demand. A rider asks for a tram; the dispatcher rates every tram of the town against the ride and
offers the best one. The offer holds for the rest of the shift unless the rider takes it or turns it down, which most do
within a second.

ticket: practice
class: app-leak
holder: lapse Offer call_later TimerHandle _scheduled
cause: timers-left closure-kept
"""

import asyncio
import os
import random
import time
from collections import Counter

import torch
from torch import nn

TRAMS, STOPS, SHIFT = 500, 700, 8 * 3600
OPEN = 12  # riders at a time


class Offer:
    """What a rider was offered, with the rating of each tram at each stop, for a second choice."""

    def __init__(self, number, ratings):
        self.number, self.ratings = number, ratings
        self.tram = int(ratings.min(dim=1).values.argmin())
        self.state = "open"

    def lapse(self):
        if self.state == "open":
            self.state = "lapsed"

    def second(self):
        costs = self.ratings.min(dim=1).values.clone()
        costs[self.tram] = float("inf")
        self.tram = int(costs.argmin())


class Dispatcher:
    def __init__(self, device):
        self.device, self.number, self.states = device, 0, Counter()
        self.rate = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, STOPS)).to(device).eval()
        self.trams = torch.rand(TRAMS, 4, device=device)

    @torch.inference_mode()
    def offer(self, place):
        self.number += 1
        ride = torch.tensor(place, device=self.device).expand(TRAMS, 2)
        ratings = self.rate(torch.cat([self.trams, ride], dim=1))  # grows
        self.trams = (self.trams + 0.01 * torch.randn_like(self.trams)).clamp(0, 1)
        return Offer(self.number, ratings)

    async def serve(self):
        offer = self.offer((random.random(), random.random()))
        asyncio.get_running_loop().call_later(SHIFT, offer.lapse)  # keeps
        await asyncio.sleep(random.uniform(0.4, 1.4))
        if random.random() < 0.3:
            offer.second()
            await asyncio.sleep(random.uniform(0.1, 0.4))
        offer.state = random.choice(("taken", "taken", "refused"))
        self.states[offer.state] += 1


async def riders(dispatcher, end):
    await asyncio.sleep(random.random())
    while time.time() < end:
        await dispatcher.serve()


async def main():
    torch.set_num_threads(1)
    dispatcher = Dispatcher("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    queue = [asyncio.create_task(riders(dispatcher, end)) for _ in range(OPEN)]
    while time.time() < end:
        await asyncio.sleep(2)
        print(f"{dispatcher.number} offers,", dict(dispatcher.states), flush=True)
    await asyncio.gather(*queue)


if __name__ == "__main__":
    asyncio.run(main())
