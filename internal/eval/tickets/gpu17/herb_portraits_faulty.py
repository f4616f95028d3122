"""People on a walk send photos of herbs and want to know their names. Photos wait for a moment, so that a few of them
go through the network together. Nobody shall wait for ever: if a photo has no answer after some minutes, its sender is
told to try again later.

ticket: practice
class: host-growth
holder: _scheduled expire job loop
cause: timers-left callbacks-left
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn

HERBS = ("thyme", "sage", "mint", "yarrow", "sorrel", "woodruff")
SIDE, TOGETHER, PATIENCE, WALKERS = 448, 4, 600, 5


class Job:
    def __init__(self, photo):
        self.photo, self.answer = photo, asyncio.get_running_loop().create_future()


class Herbs(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 12, 9, stride=6), nn.ReLU(), nn.Conv2d(12, 24, 5, stride=4), nn.ReLU())
        self.name = nn.Linear(24, len(HERBS))

    def forward(self, photos):
        return self.name(self.body(photos).mean((2, 3))).softmax(1)


class Namer:
    def __init__(self, device):
        self.device, self.model = device, Herbs().to(device).eval()
        self.waiting, self.named, self.expired = [], 0, 0

    def expire(self, job):
        if not job.answer.done():
            self.expired += 1
            job.answer.set_exception(TimeoutError("too many herbs today"))

    async def name(self, photo):
        job = Job(photo)
        asyncio.get_running_loop().call_later(PATIENCE, self.expire, job)  # keeps
        self.waiting.append(job)
        return await job.answer

    async def work(self):
        """Takes what waits, a few photos at a time."""
        while True:
            await asyncio.sleep(random.uniform(0.05, 0.2))
            jobs, self.waiting = self.waiting[:TOGETHER], self.waiting[TOGETHER:]
            if not jobs:
                continue
            photos = torch.from_numpy(np.stack([job.photo for job in jobs])).to(self.device)
            with torch.no_grad():
                chances, names = self.model(photos).max(1)
            for job, chance, name in zip(jobs, chances.tolist(), names.tolist()):
                self.named += 1
                if not job.answer.done():
                    job.answer.set_result((HERBS[name], chance))


def portrait():
    """A photo as it comes from the telephone, as the network wants it."""
    raw = np.random.randint(0, 256, (SIDE // 4, SIDE // 4, 3), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    return np.ascontiguousarray(raw.transpose(2, 0, 1), dtype=np.float32) / np.float32(255)  # grows


async def walker(namer, end):
    while time.time() < end:
        await asyncio.sleep(random.uniform(0.3, 1.5))
        await namer.name(portrait())


async def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    namer = Namer("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    work = asyncio.create_task(namer.work())
    walkers = [asyncio.create_task(walker(namer, end)) for _ in range(WALKERS)]
    while time.time() < end:
        await asyncio.sleep(2)
        print(namer.named, "named,", namer.expired, "expired,", len(namer.waiting), "waiting", flush=True)
    await asyncio.gather(*walkers)
    work.cancel()


if __name__ == "__main__":
    asyncio.run(main())
