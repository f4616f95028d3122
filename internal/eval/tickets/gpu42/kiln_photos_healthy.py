"""Watches the kilns of a pottery. A camera at each kiln sends its photos to a desk, which tells from the glow how hot
the kiln is. A photo that the desk has not judged after ten minutes is thumbed and put aside for the potter.

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

KILNS, HEIGHT, WIDTH, PATIENCE, TOGETHER = 4, 480, 640, 600.0, 4


def glow_model():
    return nn.Sequential(
        nn.Conv2d(3, 8, 8, stride=8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 1),
    )


class Desk:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.inbox, self.aside, self.judged = asyncio.Queue(maxsize=16), {}, 0

    async def judge(self, kiln, photo):
        """The temperature that a photo shows, once it has had its turn."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(PATIENCE, self.put_aside, kiln, photo)
        answer = loop.create_future()
        await self.inbox.put((photo, answer))
        try:
            return await answer
        finally:
            timer.cancel()

    def put_aside(self, kiln, photo):
        self.aside[kiln] = photo[::8, ::8].copy()

    @torch.inference_mode()
    def temperatures(self, photos):
        pixels = torch.from_numpy(np.stack(photos)).to(self.device).permute(0, 3, 1, 2).float() / 255
        return (1000 + 200 * self.model(pixels)).squeeze(1).tolist()

    async def work(self):
        while True:
            turns = [await self.inbox.get()]
            while len(turns) < TOGETHER and not self.inbox.empty():
                turns.append(self.inbox.get_nowait())
            for (_, answer), degrees in zip(turns, self.temperatures([photo for photo, _ in turns])):
                answer.set_result(degrees)
            self.judged += len(turns)
            del turns
            await asyncio.sleep(0.01)


async def camera(desk, kiln, heat, end):
    """Photos of a kiln in which it gets hotter and colder."""
    rng, glow = np.random.default_rng(kiln), 100
    while time.time() < end:
        photo = rng.integers(0, 60, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        photo[120:360, 200:440, 0] += np.uint8(glow)
        glow = min(max(glow + random.randint(-5, 5), 0), 190)
        heat[kiln] = await desk.judge(kiln, photo)
        await asyncio.sleep(random.uniform(0.2, 0.4))


async def report(desk, heat, end):
    while time.time() < end:
        await asyncio.sleep(2)
        degrees = ", ".join(f"{kiln}: {value:.0f}" for kiln, value in sorted(heat.items()))
        print(f"{desk.judged} photos judged; {degrees}; {len(desk.aside)} put aside", flush=True)


async def serve():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    desk, heat = Desk(glow_model().to(device).eval(), device), {}
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    worker = asyncio.create_task(desk.work())
    await asyncio.gather(report(desk, heat, end), *(camera(desk, kiln, heat, end) for kiln in range(KILNS)))
    worker.cancel()


def main():
    torch.set_num_threads(1)
    asyncio.run(serve())


if __name__ == "__main__":
    main()
