"""An asyncio service finds recipes that go with what somebody has in the kitchen. The parts of a request are timed, and
what came of them is noted, for an explanation of the answer. The notes of a request are in a context variable, so that
requests that are under way together do not mix theirs; each request starts with an empty list of its own.

ticket: practice
class: none
"""

import asyncio
import contextlib
import contextvars
import os
import random
import time

import torch
from torch import nn

FOODS, RECIPES, WIDTH = 400, 60000, 32
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

spans = contextvars.ContextVar("spans")


class Span:
    """A part of a request: its name, how long it took, and what came of it."""

    def __init__(self, name):
        self.name, self.seconds, self.result = name, 0.0, None


@contextlib.contextmanager
def timed(name):
    span, start = Span(name), time.perf_counter()
    try:
        yield span
    finally:
        span.seconds = time.perf_counter() - start
        spans.get().append(span)


class Finder:
    def __init__(self):
        torch.manual_seed(0)
        self.foods = nn.EmbeddingBag(FOODS, WIDTH, mode="mean").to(DEVICE).requires_grad_(False)
        self.recipes = nn.functional.normalize(torch.randn(RECIPES, WIDTH, device=DEVICE), dim=1)
        self.minutes = torch.randint(10, 120, (RECIPES,), device=DEVICE)
        self.asked = 0

    async def embed(self, kitchen):
        with timed("embed") as span:
            await asyncio.sleep(random.uniform(0.002, 0.02))
            span.result = self.foods(torch.tensor([kitchen], device=DEVICE))[0]
        return span.result

    async def rank(self, wanted, patience):
        with timed("rank") as span:
            await asyncio.sleep(random.uniform(0.002, 0.02))
            likeness = self.recipes @ nn.functional.normalize(wanted, dim=0)
            span.result = likeness - 0.5 * (self.minutes > patience)
        return span.result.topk(5)

    def explain(self):
        slowest = max(spans.get()[-2:], key=lambda span: span.seconds)
        return f"{slowest.name} took {1000 * slowest.seconds:.0f} ms, mean {float(slowest.result.mean()):.3f}"

    async def answer(self, kitchen, patience):
        spans.set([])
        best = await self.rank(await self.embed(kitchen), patience)
        self.asked += 1
        return best.indices.tolist(), self.explain()


async def cook(finder, end):
    """Somebody who asks again with one thing more in the kitchen, until something fits."""
    while time.time() < end:
        kitchen = random.sample(range(FOODS), random.randint(3, 8))
        for _ in range(random.randint(1, 4)):
            recipes, why = await asyncio.create_task(finder.answer(kitchen, random.choice((20, 45, 90))))
            kitchen.append(random.randrange(FOODS))
            await asyncio.sleep(random.uniform(0.1, 0.5))
        if random.random() < 0.05:
            print(finder.asked, "asked, found", recipes[:3], why, flush=True)


async def main():
    torch.set_num_threads(1)
    end, finder = time.time() + float(os.environ.get("SECONDS", "45")), Finder()
    await asyncio.gather(*[cook(finder, end) for _ in range(8)])
    print(finder.asked, "asked in all", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
