"""A timeout is set for each request, with its answer, and cancelled when the answer comes.

ticket: common practice: call_later not cancelled
class: none
"""

import asyncio
import os
import random
import time


class Client:
    def __init__(self, loop):
        self.loop, self.done, self.late = loop, 0, 0

    def expired(self, answer):
        self.late += not answer["done"]

    async def ask(self):
        answer = {"done": False, "body": b""}
        timeout = self.loop.call_later(600, self.expired, answer)
        await asyncio.sleep(random.uniform(0.001, 0.02))
        answer.update(done=True, body=os.urandom(random.randint(4000, 12000)))
        timeout.cancel()
        self.done += 1


async def asking(client, end):
    while time.time() < end:
        await client.ask()
        await asyncio.sleep(random.expovariate(40))


async def main():
    client, end = Client(asyncio.get_running_loop()), time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*[asking(client, end) for _ in range(4)])
    print("done", client.done, client.late)


if __name__ == "__main__":
    asyncio.run(main())
