"""A service that counts the cars on the decks of a ferry. The cameras send frames, which are put together to small
batches for the detector; each camera waits for its boxes. A watch looks at each open request every second, so that
frames that wait for too long are seen in the report.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

DECKS, HEIGHT, WIDTH, MOST = 4, 400, 600, 4


class Detector(nn.Module):
    """Score and box for each cell of 40 pixels."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.AvgPool2d(5), nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, 5, 3, stride=2, padding=1))

    def forward(self, frames):
        out = self.body(frames).flatten(2).transpose(1, 2)
        return out[..., 0].sigmoid(), out[..., 1:]


@dataclass
class Request:
    frame: np.ndarray
    answer: asyncio.Future


class Service:
    def __init__(self, device):
        self.device, self.model = device, Detector().to(device).eval()
        self.loop, self.queue = asyncio.get_running_loop(), asyncio.Queue(maxsize=16)
        self.late = self.served = 0

    async def detect(self, frame):
        request = Request(frame, self.loop.create_future())
        self.loop.call_later(1.0, self.watch, request)
        await self.queue.put(request)
        return await request.answer

    def watch(self, request):
        """Counts the request if it still waits, and looks again in a second."""
        if request.answer.done():
            return
        self.late += 1
        self.loop.call_later(1.0, self.watch, request)

    @torch.no_grad()
    def infer(self, frames):
        batch = torch.from_numpy(np.stack(frames)).to(self.device).permute(0, 3, 1, 2).float() / 255
        scores, boxes = self.model(batch)
        return [own[score > 0.5].cpu().numpy() for score, own in zip(scores, boxes)]

    async def work(self):
        while True:
            requests = [await self.queue.get()]
            while len(requests) < MOST and not self.queue.empty():
                requests.append(self.queue.get_nowait())
            found = await self.loop.run_in_executor(None, self.infer, [request.frame for request in requests])
            for request, boxes in zip(requests, found):
                request.answer.set_result(boxes)
                self.served += 1


async def camera(deck, service, end):
    rng, cars = np.random.default_rng(deck), 0
    while time.time() < end:
        frame = rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        cars = len(await service.detect(frame))
        await asyncio.sleep(random.uniform(0.2, 0.5))
    return cars


async def report(service):
    while True:
        await asyncio.sleep(3)
        print(f"{service.served} frames served, {service.late} times one was late", flush=True)


async def main():
    torch.set_num_threads(1)
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    helpers = [asyncio.create_task(service.work()), asyncio.create_task(report(service))]
    cars = await asyncio.gather(*(camera(deck, service, end) for deck in range(DECKS)))
    for helper in helpers:
        helper.cancel()
    print("cars at the end:", cars, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
