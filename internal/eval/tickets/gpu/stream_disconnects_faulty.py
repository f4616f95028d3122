"""A text server streams tokens to its clients. When a client hangs up in the middle, the generator is
closed before it takes the request, with its cache of keys and values, off the engine.

ticket: ROCm/ATOM#1562
class: app-leak
holder: requests
cause: sessions-kept
"""

import asyncio
import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))


class Engine:
    def __init__(self):
        self.requests, self.number = {}, 0
        self.weights = torch.randn(512, 512, device=device)

    def add(self, length):
        self.number += 1
        self.requests[self.number] = torch.zeros(2, 4, length, 512, device=device)  # grows
        return self.number

    def step(self, number, position):
        kv = self.requests[number]
        kv[:, :, position] = torch.randn(512, device=device) @ self.weights
        return int(kv[0, 0, : position + 1].sum().item()) % 1000


async def stream(engine, tokens):
    number = engine.add(tokens * 4)
    for position in range(tokens):
        await asyncio.sleep(0.03)
        yield engine.step(number, position)
    engine.requests.pop(number)


async def client(engine):
    while time.time() < END:
        answer = stream(engine, random.randint(10, 60))
        for _ in range(random.choice([4, 12, 99, 99])):
            if await anext(answer, None) is None:
                break
        await answer.aclose()
        await asyncio.sleep(random.choice([0.1, 0.3, 2.0]))


async def main(engine):
    await asyncio.gather(*[client(engine) for _ in range(6)])


asyncio.run(main(Engine()))
