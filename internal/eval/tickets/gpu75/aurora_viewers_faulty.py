"""A camera in Tromsø looks at the northern lights, and everybody may look on. A small network takes the noise out of
each picture; the clean picture goes into the queue of each viewer. Viewers stay for a while. Some say goodbye, and from
others the connection breaks off.

ticket: practice
class: app-leak
holder: queue queues Hub hub
cause: unbounded-queue entries-left
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

HEIGHT, WIDTH = 256, 448
PACE = 0.12
SEATS = 6


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(),
            nn.Conv2d(8, 3, 3, padding=1),
        )

    def forward(self, picture):
        return (picture - self.layers(picture)).clamp(0, 1)  # grows


class Hub:
    """Hands each picture to each of those who look on."""

    def __init__(self):
        self.queues = set()
        self.served = self.broken = 0

    def join(self):
        queue = asyncio.Queue()
        self.queues.add(queue)
        return queue

    def leave(self, queue):
        self.queues.discard(queue)

    def show(self, picture):
        for queue in self.queues:
            queue.put_nowait(picture)  # keeps


async def send(picture):
    """A thumbnail goes over the line, which may be bad."""
    thumbnail = nn.functional.avg_pool2d(picture, 8).mul(255).byte().cpu().numpy().tobytes()
    await asyncio.sleep(0.002)
    if random.random() < 0.03:
        raise ConnectionResetError
    return len(thumbnail)


async def look_on(hub, pictures):
    queue = hub.join()
    for _ in range(pictures):
        await send(await queue.get())
        hub.served += 1
    hub.leave(queue)


async def seat(hub, end):
    """One viewer comes after the other."""
    while time.time() < end:
        try:
            await look_on(hub, random.randint(5, 40))
        except ConnectionResetError:
            hub.broken += 1
        await asyncio.sleep(random.uniform(0.1, 0.5))


async def camera(hub, model, device, end):
    shots = 0
    while time.time() < end:
        noisy = torch.rand(1, 3, HEIGHT, WIDTH).to(device)
        with torch.inference_mode():
            hub.show(model(noisy))
        shots += 1
        if shots % 25 == 0:
            print(f"{shots} pictures, {hub.served} served, {hub.broken} broken off", flush=True)
        await asyncio.sleep(PACE)


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    hub, model = Hub(), Denoiser().to(device).eval()
    seats = [asyncio.create_task(seat(hub, end)) for _ in range(SEATS)]
    await camera(hub, model, device, end)
    for task in seats:
        task.cancel()
    await asyncio.gather(*seats, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
