"""A service that files the deeds of a land registry as they come in. The clauses of a deed are embedded word by word
on the device, and the deed is put on the shelf whose topics its words fit best. Each deed is a task of its own; the
event loop refers to its tasks weakly, so the service holds them itself until they are shelved.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

WORDS, WIDTH, SHELVES, TOPICS = 8_000, 160, 12, 6


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.around = nn.Conv1d(WIDTH, WIDTH, 5, padding=2)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, clauses):
        words = self.words(clauses)
        around = self.around(words.transpose(1, 2)).transpose(1, 2)
        return self.norm(words + torch.relu(around))


class Registry:
    def __init__(self, device):
        self.device = device
        self.encoder = Encoder().to(device).eval()
        self.topics = torch.randn(SHELVES, TOPICS, WIDTH, device=device)
        self.worker = ThreadPoolExecutor(1)
        self.tasks = set()
        self.shelves = Counter()

    def accept(self, deed):
        task = asyncio.create_task(self.embed(deed))
        task.add_done_callback(self.shelve)
        self.tasks.add(task)

    async def embed(self, deed):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.worker, self.encode, deed)

    @torch.no_grad()
    def encode(self, deed):
        return self.encoder(deed.to(self.device))

    def shelve(self, task):
        words = task.result().flatten(0, 1)
        fits = (words @ self.topics.flatten(0, 1).T).amax(dim=0)
        shelf = fits.view(SHELVES, TOPICS).mean(dim=1).argmax().item()
        self.shelves[shelf] += 1
        self.tasks.discard(task)


def deed():
    """Clauses of equal length; some deeds are long."""
    return torch.randint(WORDS, (random.choice((4, 6, 12)), random.choice((96, 160, 256))))


async def serve(registry, end):
    said = time.time()
    while time.time() < end:
        for _ in range(random.choice((1, 1, 2, 5))):
            registry.accept(deed())
        await asyncio.sleep(random.uniform(0.1, 0.4))
        if time.time() - said > 3:
            said = time.time()
            shelf, count = registry.shelves.most_common(1)[0]
            print(f"{sum(registry.shelves.values())} deeds filed, most of them on shelf {shelf}: {count}", flush=True)
    await asyncio.gather(*registry.tasks)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    registry = Registry(device)
    asyncio.run(serve(registry, end))
    registry.worker.shutdown()


if __name__ == "__main__":
    main()
