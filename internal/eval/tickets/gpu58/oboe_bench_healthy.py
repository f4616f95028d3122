"""Which kind of attention is best for a model of oboe recordings? Three kinds take turns, each trial with recordings of
its own. Every trial has a memory pool to itself, so that none profits from the blocks of another, and what a pool took
from the device is reported beside the time.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter
from contextlib import nullcontext

import torch
from torch.nn import functional as F

BATCH, HEADS, FRAMES, WIDTH, REPEATS = 1, 4, 640, 64, 5


def full(query, key, value):
    weights = (query @ key.transpose(-2, -1) * WIDTH**-0.5).softmax(dim=-1)
    return weights @ value


def chunked(query, key, value):
    return torch.cat([full(part, key, value) for part in query.chunk(4, dim=-2)], dim=-2)


def linear(query, key, value):
    query, key = F.elu(query) + 1, F.elu(key) + 1
    total = query @ key.sum(dim=-2, keepdim=True).transpose(-2, -1)
    return query @ (key.transpose(-2, -1) @ value) / total


KINDS = {"full": full, "chunked": chunked, "linear": linear}


def size(pool):
    """The bytes that a pool took from the device."""
    return 0 if pool is None else sum(segment["total_size"] for segment in pool.snapshot())


class Bench:
    def __init__(self, device):
        self.device = device
        self.seconds, self.trials = Counter(), Counter()
        self.taken = Counter()

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def rounds(self, attend):
        """The seconds that a few rounds took, without the breaks between them."""
        inputs = torch.randn(3, BATCH, HEADS, FRAMES, WIDTH, device=self.device)
        seconds = 0.0
        for _ in range(REPEATS):
            self.wait()
            start = time.perf_counter()
            attend(*inputs)
            self.wait()
            seconds += time.perf_counter() - start
            time.sleep(random.uniform(0.05, 0.2))
        return seconds

    def trial(self, name):
        on_cuda = self.device == "cuda"
        pool = torch.cuda.MemPool() if on_cuda else None
        with torch.cuda.use_mem_pool(pool) if on_cuda else nullcontext():
            self.seconds[name] += self.rounds(KINDS[name])
        self.trials[name] += 1
        self.taken[name] = max(self.taken[name], size(pool))

    def report(self):
        for name in self.taken:
            mean = 1000 * self.seconds[name] / (REPEATS * self.trials[name])
            print(f"{name:8} {self.trials[name]:4} trials {mean:8.3f} ms {self.taken[name] >> 20:4} MiB", flush=True)


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for attend in KINDS.values():
        attend(*torch.randn(3, BATCH, HEADS, FRAMES, WIDTH, device=device))
    bench = Bench(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for name in KINDS:
            bench.trial(name)
        bench.report()


if __name__ == "__main__":
    main()
