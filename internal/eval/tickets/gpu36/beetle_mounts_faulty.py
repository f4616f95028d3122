"""A museum has its beetle collection photographed, and this server names the species. Photographs come in from
several tables at once; the server puts them in a queue, and a runner takes a small batch from it at each of its
turns, since the card is also used by the microscope in between. Each table waits for its answers.

ticket: deep-learning-with-pytorch/dlwpt-code#26
class: host-growth
holder: queue Runner input
cause: unbounded-queue
"""

import asyncio
import os
import random
import time
from collections import Counter, deque

import numpy as np
import torch
from torch import nn

SPECIES, SIDE = 40, 192
BATCH, TURN = 4, 0.3
TABLES, PAUSE = 5, 0.18


class Namer(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4)
        )
        self.head = nn.Linear(32 * 16, SPECIES)

    def forward(self, photographs):
        return self.head(self.features(photographs).flatten(1))


class Runner:
    def __init__(self, device):
        self.device = device
        self.model = Namer().to(device).eval()
        self.queue = deque()

    async def name(self, photograph):
        task = {"done": asyncio.Event(), "input": photograph}
        self.queue.append(task)  # keeps
        await task["done"].wait()
        return task["output"]

    @torch.inference_mode()
    def run_model(self, photographs):
        batch = torch.from_numpy(np.stack(photographs)).to(self.device)
        return self.model(batch).argmax(dim=1).tolist()

    async def work(self):
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TURN)
            tasks = [self.queue.popleft() for _ in range(min(BATCH, len(self.queue)))]
            if not tasks:
                continue
            names = await loop.run_in_executor(None, self.run_model, [task["input"] for task in tasks])
            for task, name in zip(tasks, names):
                task["output"] = name
                task["done"].set()


async def ask(runner, photograph, answers):
    answers[await runner.name(photograph)] += 1


async def table(runner, answers, asked):
    """A photographer at work: a new photograph now and then, whether or not the last answer is there."""
    rng = np.random.default_rng()
    while True:
        photograph = rng.random((3, SIDE, SIDE), dtype=np.float32)  # grows
        task = asyncio.create_task(ask(runner, photograph, answers))
        asked.add(task)
        task.add_done_callback(asked.discard)
        await asyncio.sleep(random.uniform(0.5, 1.5) * PAUSE)


async def serve(device, end):
    runner, answers, asked = Runner(device), Counter(), set()
    helpers = [asyncio.create_task(runner.work())]
    helpers += [asyncio.create_task(table(runner, answers, asked)) for _ in range(TABLES)]
    while time.time() < end:
        await asyncio.sleep(3)
        print(f"{sum(answers.values())} beetles of {len(answers)} species named", flush=True)
    for task in helpers + list(asked):
        task.cancel()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    asyncio.run(serve(device, time.time() + float(os.environ.get("SECONDS", "45"))))


if __name__ == "__main__":
    main()
