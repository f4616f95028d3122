"""A finder of statutes for law offices. A question is searched among the vectors of all articles, and the articles
nearest to it come back as an array, which the office's own ranking goes through. Offices often ask the same thing
at the same moment, so those who come while a question is being searched wait for the one search.

ticket: practice
class: host-growth
holder: searches Finder Task
cause: futures-kept cache-without-bound
"""

import asyncio
import os
import random
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

ARTICLES, WIDTH, NEAREST, OFFICES = 40_000, 384, 160, 6
FIELDS = "tenancy", "maritime", "labour", "customs"


class Finder:
    def __init__(self, device):
        self.device = device
        articles = torch.randn(ARTICLES, WIDTH, device=device)
        self.articles = torch.nn.functional.normalize(articles, dim=1)
        self.searches = {}

    def embed(self, question):
        seed = torch.Generator().manual_seed(zlib.crc32(question.encode()))
        return torch.randn(WIDTH, generator=seed).to(self.device)

    def search(self, question):
        with torch.inference_mode():
            nearest = (self.articles @ self.embed(question)).topk(NEAREST).indices
            return nearest.cpu().numpy(), self.articles[nearest].cpu().numpy()  # grows

    async def find(self, question):
        task = self.searches.get(question)
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(self.search, question))
            self.searches[question] = task  # keeps
        return await task


class Docket:
    """What the offices ask about: cases that come in, each of them asked about by several for a little while."""

    def __init__(self):
        self.cases = [self.case() for _ in range(4)]

    def case(self):
        return f"{random.choice(FIELDS)} case {random.randrange(10**9)}"

    def question(self):
        if random.random() < 0.6:
            self.cases[random.randrange(len(self.cases))] = self.case()
        return random.choice(self.cases)


async def office(finder, docket, answered, end):
    taste = np.random.default_rng().normal(size=WIDTH).astype(np.float32)
    while time.time() < end:
        numbers, vectors = await finder.find(docket.question())
        first = numbers[(vectors @ taste).argmax()]
        answered.append(int(first))
        del answered[:-20]
        await asyncio.sleep(random.uniform(0.05, 0.3))


async def serve(device):
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    finder, docket, answered = Finder(device), Docket(), []
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    offices = [asyncio.create_task(office(finder, docket, answered, end)) for _ in range(OFFICES)]
    while time.time() < end:
        await asyncio.sleep(2)
        print("articles lately found:", *answered[-6:], flush=True)
    await asyncio.gather(*offices)


def main():
    torch.set_num_threads(1)
    asyncio.run(serve("cuda" if torch.cuda.is_available() else "cpu"))


if __name__ == "__main__":
    main()
