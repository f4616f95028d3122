"""Ferries ask the harbour which berth they should take. Each sends a photograph of its bow, and a batcher puts the
requests that lie in the queue together into one batch for the model. A ferry that has waited too long asks again, as
a new request, at most three times.

ticket: practice
class: none
"""

import asyncio
import itertools
import os
import random
import time

import numpy as np
import torch
from torch import nn

SIDE, BERTHS, FERRIES, MOST = 256, 24, 6, 4
PATIENCE, TRIES = 0.15, 3


class Berths(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(
            nn.Conv2d(3, 16, 7, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 5, stride=4), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.head = nn.Linear(32 * 16, BERTHS)

    def forward(self, images):
        return self.head(self.eyes(images)).softmax(dim=-1)


class Harbour:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.numbers = itertools.count()
        self.queue = asyncio.Queue()
        self.waiting = {}  # number of the request: its photograph, and the future of its answer
        self.answered = self.late = 0

    async def ask(self, photograph):
        """The berth for this photograph; raises asyncio.TimeoutError if nobody answers in time."""
        number = next(self.numbers)
        future = asyncio.get_running_loop().create_future()
        self.waiting[number] = photograph, future
        self.queue.put_nowait(number)
        try:
            return await asyncio.wait_for(future, PATIENCE)
        finally:
            del self.waiting[number]

    async def serve(self, end):
        while time.time() < end:
            numbers = [await self.queue.get()]
            while not self.queue.empty() and len(numbers) < MOST:
                numbers.append(self.queue.get_nowait())
            pairs = [self.waiting[number] for number in numbers if number in self.waiting]
            pairs = [(photograph, future) for photograph, future in pairs if not future.done()]
            if not pairs:
                continue
            berths = self.predict([photograph for photograph, _ in pairs])
            await asyncio.sleep(random.choice((0.03, 0.03, 0.05, 0.3)))  # the pilot's radio is slow now and then
            for (_, future), berth in zip(pairs, berths):
                if not future.done():
                    future.set_result(berth)

    @torch.inference_mode()
    def predict(self, photographs):
        images = torch.from_numpy(np.stack(photographs)).to(self.device)
        return self.model(images).argmax(dim=-1).tolist()


async def ferry(harbour, rng, end):
    while time.time() < end:
        photograph = rng.standard_normal((3, SIDE, SIDE), dtype=np.float32)
        for _ in range(TRIES):
            try:
                await harbour.ask(photograph)
                harbour.answered += 1
                break
            except asyncio.TimeoutError:
                harbour.late += 1
        await asyncio.sleep(random.uniform(0.2, 0.6))


async def report(harbour, end):
    while time.time() < end:
        await asyncio.sleep(2)
        print(f"{harbour.answered} answers, {harbour.late} came too late", flush=True)


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    harbour = Harbour(Berths().to(device).eval(), device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    server = asyncio.create_task(harbour.serve(end))
    ferries = [ferry(harbour, np.random.default_rng(seed), end) for seed in range(FERRIES)]
    await asyncio.gather(report(harbour, end), *ferries)
    server.cancel()


if __name__ == "__main__":
    asyncio.run(main())
