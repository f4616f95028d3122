"""A node looks for channels' torrents in tasks with names. Tasks that are done stay in the manager's dictionary.

ticket: Tribler/py-ipv8#702
class: host-growth
holder: pending tasks
cause: tasks-kept futures-kept container-grows cache-without-bound results-kept
"""

import asyncio
import itertools
import os
import random
import time


class TaskManager:
    def __init__(self):
        self.pending, self.counter = {}, itertools.count()

    def register(self, name, coroutine):
        key = "%s %d" % (name, next(self.counter))
        task = asyncio.ensure_future(coroutine)
        self.pending[key] = task  # keeps
        return task


class Node:
    def __init__(self):
        self.tasks, self.channels = TaskManager(), {n: 0 for n in range(300)}

    async def download(self, channel):
        await asyncio.sleep(random.uniform(0.005, 0.03))
        pieces = [os.urandom(random.randint(200, 900)) for _ in range(40)]  # grows
        self.channels[channel] += len(pieces)
        return pieces

    async def round(self):
        chosen = random.sample(sorted(self.channels), random.randint(2, 8))
        done = [self.tasks.register("download", self.download(channel)) for channel in chosen]
        return sum(map(len, itertools.chain.from_iterable(await asyncio.gather(*done))))


async def main():
    node, end, total = Node(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        total += await node.round()
        await asyncio.sleep(random.uniform(0.03, 0.1))
    print(total)


if __name__ == "__main__":
    asyncio.run(main())
