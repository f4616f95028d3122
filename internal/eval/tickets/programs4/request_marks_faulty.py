"""A gateway measures how long its executors take: when a request is sent out it is noted, and
looked up when the answer is there.

ticket: jina-ai/serve#4791
class: host-growth
holder: sent
cause: cache-without-bound results-kept
"""

import asyncio
import collections
import os
import random
import time
import uuid

import numpy as np


class Request:
    def __init__(self, documents):
        self.id, self.documents = uuid.uuid4().hex, documents


class Gateway:
    def __init__(self):
        self.sent, self.seconds = {}, collections.deque(maxlen=1000)

    async def serve(self, request):
        self.before(request)
        answer = await self.execute(request)
        self.after(request)
        return answer

    def before(self, request):
        self.sent[request.id] = time.perf_counter(), request  # keeps

    def after(self, request):
        begun, _ = self.sent[request.id]
        self.seconds.append(time.perf_counter() - begun)

    async def execute(self, request):
        await asyncio.sleep(random.uniform(0.01, 0.1))
        return request.documents.mean(axis=1)


async def client(gateway, end):
    while time.time() < end:
        documents = np.random.rand(random.randint(4, 24), 768).astype(np.float32)  # grows
        await gateway.serve(Request(documents))
        await asyncio.sleep(random.uniform(0.05, 0.2))


async def main():
    gateway, end = Gateway(), time.time() + float(os.environ.get("SECONDS", "45"))
    clients = [asyncio.create_task(client(gateway, end)) for _ in range(5)]
    while time.time() < end:
        await asyncio.sleep(2)
        print("mean %.3f s" % (sum(gateway.seconds) / max(1, len(gateway.seconds))), flush=True)
    await asyncio.gather(*clients)


if __name__ == "__main__":
    asyncio.run(main())
