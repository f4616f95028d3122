"""Counts the cars on the decks of ferries. Cameras send pictures to an asyncio service, which gathers a few and puts
them through a network together. A camera does not wait forever: when there is no answer to a picture within five
minutes, the picture is set aside for the night shift, who count the cars by hand.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn

HEIGHT, WIDTH, TOGETHER, DEADLINE = 288, 512, 4, 300.0
CAMERAS = "bow", "stern", "car deck", "upper deck"


class Picture:
    def __init__(self, camera, answer):
        self.camera, self.answer = camera, answer
        self.pixels = np.random.rand(3, HEIGHT, WIDTH).astype(np.float32)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(3, 8, 9, stride=8)
        self.count = nn.Linear(8, 1)

    def forward(self, pixels):
        return self.count(self.look(pixels).relu().mean(dim=(2, 3))).squeeze(1).exp()


class Service:
    def __init__(self, device):
        self.device = device
        self.model = Counter().to(device).eval()
        self.waiting = asyncio.Queue(maxsize=16)
        self.night_shift = []
        self.counted = 0

    def expire(self, picture):
        if not picture.answer.done():
            picture.answer.set_result(None)
            self.night_shift.append(picture)

    async def cars(self, camera):
        """Take a picture and wait for the number of cars on it."""
        loop = asyncio.get_running_loop()
        picture = Picture(camera, loop.create_future())
        deadline = loop.call_later(DEADLINE, self.expire, picture)
        await self.waiting.put(picture)
        count = await picture.answer
        deadline.cancel()
        return count, deadline.when() - loop.time()

    async def work(self):
        while True:
            pictures = [await self.waiting.get()]
            while len(pictures) < TOGETHER and not self.waiting.empty():
                pictures.append(self.waiting.get_nowait())
            with torch.inference_mode():
                pixels = torch.from_numpy(np.stack([picture.pixels for picture in pictures]))
                counts = self.model(pixels.to(self.device)).tolist()
            for picture, count in zip(pictures, counts):
                if not picture.answer.done():
                    picture.answer.set_result(count)
            self.counted += len(pictures)
            await asyncio.sleep(0.02)


async def camera(name, service, end):
    while time.time() < end:
        count, left = await service.cars(name)
        if random.random() < 0.05:
            print(f"{name}: {count:.1f} cars, {left:.0f} s before the deadline; {service.counted} counted", flush=True)
        await asyncio.sleep(random.uniform(0.2, 0.6))


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service = Service(device)
    worker = asyncio.create_task(service.work())
    await asyncio.gather(*(camera(name, service, end) for name in CAMERAS))
    worker.cancel()
    print(f"{len(service.night_shift)} pictures are left for the night shift", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
