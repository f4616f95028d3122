"""What is kept: a queue of asyncio that is read too slowly.

ticket: practice
class: host-growth
holder: q queue
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


async def producer(q):
    while running():
        await q.put(make())  # keeps
        await asyncio.sleep(0)


async def consumer(q):
    while True:
        await q.get()
        await asyncio.sleep(0.1)


async def main():
    q = asyncio.Queue()
    c = asyncio.create_task(consumer(q))
    await producer(q)
    c.cancel()


asyncio.run(main())
