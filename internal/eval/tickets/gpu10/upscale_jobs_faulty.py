"""An asyncio service makes pictures larger. A job runs as a task beside the others; as the loop itself has only weak
references to its tasks, the service has a set of them, so that none is collected before its time.

ticket: practice
class: app-leak
holder: tasks
cause: results-kept
"""

import asyncio
import concurrent.futures
import os
import random
import time

import torch
from torch import nn

SIZES = ((96, 96), (96, 128), (128, 128))


class Upscaler(nn.Module):
    """Four times the size, by a shuffle of pixels."""

    def __init__(self, width=24):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 5, padding=2), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(width, 48, 3, padding=1), nn.PixelShuffle(4))
        self.smooth = nn.Upsample(scale_factor=4, mode="bilinear", align_corners=False)

    def forward(self, picture):
        return (self.smooth(picture) + 0.1 * self.body(picture)).clamp(0, 1)


class Service:
    def __init__(self, device):
        self.device, self.model = device, Upscaler().to(device).eval()
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.tasks, self.done, self.waiting = set(), 0, asyncio.Semaphore(4)

    @torch.inference_mode()
    def enlarge(self, picture):
        return self.model(picture.to(self.device))  # grows

    async def job(self, picture, reply):
        async with self.waiting:
            loop = asyncio.get_running_loop()
            large = await loop.run_in_executor(self.pool, self.enlarge, picture)
        await reply(large)
        self.done += 1
        return large

    def submit(self, picture, reply):
        task = asyncio.create_task(self.job(picture, reply))
        self.tasks.add(task)  # keeps
        return task

    async def close(self):
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.pool.shutdown()


class Client:
    """Somebody with pictures, who looks at how light each has become."""

    def __init__(self, name):
        self.name, self.light = name, 0.0

    async def receive(self, large):
        self.light = 0.9 * self.light + 0.1 * float(large.mean())
        await asyncio.sleep(random.uniform(0.01, 0.1))

    async def use(self, service, end):
        while time.time() < end:
            pictures = [torch.rand(1, 3, *random.choice(SIZES)) for _ in range(random.randint(1, 3))]
            for picture in pictures:
                service.submit(picture, self.receive)
            await asyncio.sleep(len(pictures) * random.uniform(0.4, 1.0))


async def watch(service, end):
    start = time.time()
    while time.time() < end:
        await asyncio.sleep(2)
        print(service.done, "pictures,", round(service.done / (time.time() - start), 1), "a second", flush=True)


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    clients = [Client(name) for name in ("ann", "bob", "eve")]
    await asyncio.gather(watch(service, end), *[client.use(service, end) for client in clients])
    await service.close()
    print("light", [round(client.light, 3) for client in clients], flush=True)


if __name__ == "__main__":
    asyncio.run(main())
