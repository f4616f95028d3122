"""Layers whose weights are sparse in blocks need to know where the blocks lie, which is worked out from two
tensors and cached by them. A layer keeps its two tensors until it is pruned, and the cache has room for sixteen.

ticket: pytorch/pytorch#112301
class: none
"""

import functools
import logging
import os
import random
import time

import torch

log = logging.getLogger("blocks")
BLOCK = 16


@functools.lru_cache(maxsize=16)
def layout(rows, columns, width):
    """Which elements of the input each kept block reads, and where its results go."""
    within = torch.arange(BLOCK)
    reads = columns[:, None] * BLOCK + within
    writes = (rows[:, None] * BLOCK + within) % width
    return reads.repeat(1, 3), writes.repeat(1, 3)


class BlockLinear:
    def __init__(self, width, kept):
        self.width, self.blocks = width, width // BLOCK
        self.kept = torch.rand(self.blocks, self.blocks) < kept
        self.where = self.kept.nonzero(as_tuple=True)
        self.values = torch.randn(self.blocks, self.blocks, BLOCK, BLOCK) / width ** 0.5

    def prune(self, share):
        self.kept &= torch.rand(self.blocks, self.blocks) > share
        self.kept |= torch.rand(self.blocks, self.blocks) < share
        self.where = self.kept.nonzero(as_tuple=True)

    def __call__(self, x):
        rows, columns = self.where
        reads, writes = layout(rows, columns, self.width)
        parts = torch.einsum("nkb,kbc->nkc", x[:, reads[:, :BLOCK]], self.values[rows, columns])
        out = torch.zeros_like(x)
        return out.index_add_(1, writes[:, :BLOCK].flatten(), parts.flatten(1))


class Server:
    def __init__(self):
        self.layers = [BlockLinear(768, 0.2), BlockLinear(768, 0.3), BlockLinear(768, 0.15)]
        self.served = 0

    @torch.no_grad()
    def answer(self, batch):
        for layer in self.layers:
            batch = torch.relu(batch + layer(batch))
        self.served += len(batch)
        return batch.mean().item()


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end, server, batches = time.time() + float(os.environ.get("SECONDS", "45")), Server(), 0
    while time.time() < end:
        mean = server.answer(torch.randn(random.choice([1, 2, 4, 8]), 768))
        batches += 1
        if batches % 60 == 0:
            random.choice(server.layers).prune(0.05)
            log.info("%d served, mean %.3f, %s", server.served, mean, layout.cache_info())
        time.sleep(random.choice([0.01, 0.03, 0.1]))


if __name__ == "__main__":
    main()
