"""A server waits, for each request, for its answer or for the end of the server. The one that waits for the
end stays behind.

ticket: encode/starlette: tasks that wait for a disconnect
class: host-growth
holder: _waiters stopping waiter watch
cause: futures-kept callbacks-left
"""

import asyncio
import os
import random
import time


class Server:
    def __init__(self):
        self.stopping = asyncio.Event()
        self.served = 0

    async def watch(self, body):
        await self.stopping.wait()  # keeps
        return len(body)

    async def answer(self, body):
        await asyncio.sleep(random.uniform(0.002, 0.03))
        return sum(body[::512])

    async def handle(self):
        body = os.urandom(random.randint(4000, 16000))  # grows
        stop = asyncio.create_task(self.watch(body))
        work = asyncio.create_task(self.answer(body))
        await asyncio.wait({stop, work}, return_when=asyncio.FIRST_COMPLETED)
        self.served += 1


async def client(server, end):
    while time.time() < end:
        await server.handle()
        await asyncio.sleep(random.expovariate(30))


async def main():
    server, end = Server(), time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*[client(server, end) for _ in range(4)])
    print("served", server.served)


if __name__ == "__main__":
    asyncio.run(main())
