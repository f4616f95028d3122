"""What is kept: tasks in a set.

ticket: practice
class: host-growth
holder: tasks
cause: -
"""

import asyncio
import os
import random
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))  # grows


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


tasks = set()


async def handle(x):
    await asyncio.sleep(0)
    return x


async def main():
    while running():
        task = asyncio.create_task(handle(make()))
        tasks.add(task)  # keeps
        await asyncio.sleep(0)


asyncio.run(main())
