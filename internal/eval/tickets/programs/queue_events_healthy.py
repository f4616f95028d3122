"""Events are put into a queue with a bound, and whoever puts them waits for the client.

ticket: flux0-ai/flux0#108
class: none
"""

import asyncio
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Stream:
    def __init__(self):
        self.events = asyncio.Queue(maxsize=20)

    async def client(self):
        while True:
            event = await self.events.get()
            await asyncio.sleep(0.2)
            del event

    async def produce(self):
        while time.time() < END:
            event = {"id": os.urandom(8).hex(), "body": os.urandom(30_000).hex()}
            await self.events.put(event)
            await asyncio.sleep(0.03)


async def main():
    stream = Stream()
    client = asyncio.create_task(stream.client())
    await stream.produce()
    client.cancel()


asyncio.run(main())
