"""A sorting hall sends scans of parcels, and the server says which chute each belongs to. Scans wait in a queue, and
a batch is made of those that are there. While a parcel waits, its belt is told every two seconds to go on waiting.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time
from collections import Counter

import numpy as np
import torch
from torch import nn

CHUTES, BELTS, SIDE, BATCH = 40, 3, 384, 4


class Scan:
    def __init__(self, belt, pixels, answer):
        self.belt, self.pixels, self.answer = belt, pixels, answer
        self.timer = None


class Server:
    def __init__(self, device):
        self.device = device
        self.model = nn.Sequential(
            nn.Conv2d(3, 16, 7, stride=4, padding=3),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=4, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, CHUTES),
        ).to(device).eval()
        self.queue = asyncio.Queue(maxsize=16)
        self.waits, self.sorted = Counter(), Counter()

    def keep_waiting(self, scan):
        """Tells the belt of a scan that it is not sorted yet, and will do so again."""
        if not scan.answer.done():
            self.waits[scan.belt] += 1
        loop = asyncio.get_running_loop()
        scan.timer = loop.call_later(2.0, self.keep_waiting, scan)

    async def sort(self, belt, pixels):
        loop = asyncio.get_running_loop()
        scan = Scan(belt, pixels, loop.create_future())
        scan.timer = loop.call_later(2.0, self.keep_waiting, scan)
        await self.queue.put(scan)
        chute = await scan.answer
        scan.timer.cancel()
        self.sorted[chute] += 1
        return chute

    @torch.inference_mode()
    def classify(self, scans):
        pixels = torch.from_numpy(np.stack([scan.pixels for scan in scans])).to(self.device)
        images = pixels.permute(0, 3, 1, 2).float() / 255
        return self.model(images).argmax(1).tolist()

    async def work(self):
        while True:
            scans = [await self.queue.get()]
            while len(scans) < BATCH and not self.queue.empty():
                scans.append(self.queue.get_nowait())
            for scan, chute in zip(scans, self.classify(scans)):
                scan.answer.set_result(chute)


async def belt(server, name, end):
    """Scans one parcel after the other."""
    while time.time() < end:
        pixels = np.random.randint(256, size=(SIDE, SIDE, 3), dtype=np.uint8)
        await server.sort(name, pixels)
        await asyncio.sleep(random.uniform(0.1, 0.25))


async def report(server):
    while True:
        await asyncio.sleep(3)
        common = server.sorted.most_common(3)
        print(f"{sum(server.sorted.values())} parcels, chutes {common}, {sum(server.waits.values())} waits", flush=True)


async def main():
    torch.set_num_threads(1)
    server = Server("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    helpers = [asyncio.create_task(server.work()), asyncio.create_task(report(server))]
    await asyncio.gather(*(belt(server, name, end) for name in range(BELTS)))
    for helper in helpers:
        helper.cancel()


if __name__ == "__main__":
    asyncio.run(main())
