"""A server gathers requests into batches for a model. What does not fit into its
queue is refused.

ticket: deep-learning-with-pytorch/dlwpt-code#26
class: none
"""

import asyncio
import os
import random
import time

import torch
from torch import nn


class Runner:
    def __init__(self):
        self.model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 3, 1)).eval()
        self.queue, self.needs, self.refused = [], asyncio.Event(), 0

    async def process(self, image):
        task = {"input": image, "time": time.monotonic()}
        if len(self.queue) >= 24:
            self.refused += 1
            return
        self.queue.append(task)
        self.needs.set()

    async def run(self):
        while True:
            await self.needs.wait()
            batch = self.queue[:4]
            del self.queue[:4]
            if not self.queue:
                self.needs.clear()
            with torch.no_grad():
                self.model(torch.stack([task["input"] for task in batch]))
            await asyncio.sleep(0.25)


async def client(runner):
    while True:
        await runner.process(torch.rand(3, 96, 96))
        await asyncio.sleep(random.expovariate(7))


async def main():
    torch.set_num_threads(1)
    runner = Runner()
    tasks = [asyncio.create_task(client(runner)) for _ in range(4)] + [asyncio.create_task(runner.run())]
    await asyncio.sleep(float(os.environ.get("SECONDS", "45")))
    for task in tasks:
        task.cancel()
    print("refused", runner.refused)


if __name__ == "__main__":
    asyncio.run(main())
