"""Prices are sent to all who watch. Each has a queue; one who goes leaves the loop that reads it, and the line
that takes the queue off the list, behind the loop, is not come to. What is sent goes into the queue for ever.

ticket: encode/broadcaster#108
class: host-growth
holder: _subscribers _queue Queue
cause: unbounded-queue sessions-kept callbacks-left
"""

import asyncio
import contextlib
import json
import logging
import os
import random
import time

log = logging.getLogger("prices")


class Broadcast:
    def __init__(self):
        self._subscribers, self.sent = {}, 0

    async def publish(self, channel, message):
        self.sent += 1
        for queue in list(self._subscribers.get(channel, ())):
            await queue.put((channel, json.loads(message)))  # grows

    @contextlib.asynccontextmanager
    async def subscribe(self, channel):
        queue = asyncio.Queue()
        self._subscribers.setdefault(channel, set()).add(queue)  # keeps
        yield queue
        self._subscribers[channel].discard(queue)


class Watcher:
    def __init__(self, broadcast, channel):
        self.broadcast, self.channel, self.seen = broadcast, channel, 0

    async def watch(self, seconds):
        """Sends on what comes until the client is gone, which shows when something is sent."""
        async with self.broadcast.subscribe(self.channel) as queue:
            end = time.time() + seconds
            while True:
                channel, message = await queue.get()
                if time.time() > end:
                    raise ConnectionResetError("%s is gone" % channel)
                self.seen += len(message["bids"])


async def market(broadcast, end):
    channels = ["north", "south", "east"]
    while time.time() < end:
        for channel in channels:
            bids = [[round(random.uniform(90, 110), 2), random.randint(1, 500)] for _ in range(60)]
            await broadcast.publish(channel, json.dumps({"channel": channel, "bids": bids}))
        await asyncio.sleep(random.choice([0.05, 0.1, 0.15]))


async def clients(broadcast, end):
    async def one():
        watcher = Watcher(broadcast, random.choice(["north", "south", "east"]))
        try:
            await watcher.watch(random.choice([0.5, 1.0, 3.0, 8.0]))
        except ConnectionResetError as error:
            log.debug("%s after %d bids", error, watcher.seen)

    running = set()
    while time.time() < end:
        for _ in range(random.randint(0, 4)):
            task = asyncio.create_task(one())
            running.add(task)
            task.add_done_callback(running.discard)
        log.info("%d sent, %d watch", broadcast.sent, len(running))
        await asyncio.sleep(random.choice([0.5, 1.0, 2.0]))
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def main():
    logging.basicConfig(level=logging.INFO)
    end, broadcast = time.time() + float(os.environ.get("SECONDS", "45")), Broadcast()
    await asyncio.gather(market(broadcast, end), clients(broadcast, end))


if __name__ == "__main__":
    asyncio.run(main())
