"""A ranker notes for each request what it did, in a list of a context variable, so that the note of a request is not
that of another. The variable has the list as its default: all requests note in the same list.

ticket: practice
class: app-leak
holder: audit ContextVar
cause: results-kept log-records-kept
"""

import asyncio
import contextvars
import os
import random
import time

import torch
from torch import nn

audit = contextvars.ContextVar("audit", default=[])


def note(stage, **what):
    audit.get().append((stage, time.time(), what))  # keeps


class Ranker(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.items = nn.Embedding(20000, width)
        self.user = nn.GRU(width, width, batch_first=True)
        self.pair = nn.Bilinear(width, width, 1)

    def recall(self, history, count):
        query = self.user(self.items(history))[1][0]
        candidates = torch.randint(0, 20000, (1, count), device=history.device)
        vectors = self.items(candidates)  # grows
        rough = (vectors @ query[..., None])[..., 0]
        chosen = rough.topk(min(64, count)).indices
        return query, vectors, rough, candidates.gather(1, chosen)

    def rank(self, query, candidates):
        vectors = self.items(candidates)[0]
        return self.pair(query.expand_as(vectors), vectors)[:, 0]


class App:
    def __init__(self, device):
        self.device, self.ranker, self.done = device, Ranker().to(device).eval(), 0
        self.gate = asyncio.Semaphore(2)

    async def recall(self, history):
        async with self.gate:
            await asyncio.sleep(random.uniform(0.005, 0.03))
            with torch.inference_mode():
                query, vectors, rough, chosen = self.ranker.recall(history, random.randint(200, 1200))
        note("recall", history=history, vectors=vectors, rough=rough)
        return query, chosen

    async def rank(self, query, chosen):
        await asyncio.sleep(random.uniform(0.002, 0.02))
        with torch.inference_mode():
            scores = self.ranker.rank(query, chosen)
        note("rank", best=chosen[0, scores.argmax()].item())
        return scores

    async def request(self, length):
        history = torch.randint(0, 20000, (1, length), device=self.device)
        query, chosen = await self.recall(history)
        scores = await self.rank(query, chosen)
        self.done += 1
        if self.done % 50 == 0:
            print(self.done, "requests; the last stages:", [stage for stage, *_ in audit.get()[-2:]], flush=True)
        return scores.topk(10).indices.tolist()


async def serve(app, end):
    running = set()
    while time.time() < end:
        for _ in range(random.choice([1, 1, 2, 4])):
            task = asyncio.create_task(app.request(random.randint(5, 60)))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.sleep(random.uniform(0.1, 0.5))
    await asyncio.gather(*running)


if __name__ == "__main__":
    torch.set_num_threads(1)
    service = App("cuda" if torch.cuda.is_available() else "cpu")
    asyncio.run(serve(service, time.time() + float(os.environ.get("SECONDS", "45"))))
