"""Embeds the passages of a glossary of mosses for retrieval. The vectors are copied from the device into page-locked
buffers while the next batch is computed already. Whichever copies have come in are written to the shard, which starts
over when it is full; each buffer stays alive until its copy has come in.

ticket: practice
class: host-growth
holder: flights Outbox buffer
cause: pinned-staging futures-kept
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, BATCH, LENGTH, SHARD = 8_000, 768, 256, 24, 4_096


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, 256, mode="mean")
        self.wide = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, WIDTH))

    def forward(self, tokens):
        return F.normalize(self.wide(self.words(tokens)), dim=1)


class Flight:
    """A batch of vectors on its way to the host."""

    def __init__(self, vectors, place):
        self.place = place
        self.buffer = torch.empty(vectors.shape, pin_memory=vectors.is_cuda)  # grows
        self.buffer.copy_(vectors, non_blocking=True)
        self.event = None
        if vectors.is_cuda:
            self.event = torch.cuda.Event()
            self.event.record()

    def landed(self):
        return self.event is None or self.event.query()


class Outbox:
    def __init__(self, shard):
        self.shard = shard
        self.flights, self.written, self.place = [], 0, 0

    def send(self, vectors):
        self.flights.append(Flight(vectors, self.place))  # keeps
        self.place = (self.place + len(vectors)) % len(self.shard)

    def collect(self):
        """Writes what has come in, in the order in which it was sent."""
        while self.written < len(self.flights) and self.flights[self.written].landed():
            flight = self.flights[self.written]
            self.shard[flight.place : flight.place + len(flight.buffer)] = flight.buffer.numpy()
            self.written += 1


def nearest(shard, query):
    return int((shard @ query).argmax())


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Embedder().to(device).eval()
    outbox = Outbox(np.zeros((SHARD, WIDTH), dtype=np.float32))
    batches = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(1, 4)):
            tokens = torch.randint(WORDS, (BATCH, LENGTH))
            outbox.send(model(tokens.to(device, non_blocking=True)))
            batches += 1
        outbox.collect()
        if batches % 10 == 0:
            found = nearest(outbox.shard, model(torch.randint(WORDS, (1, 6), device=device))[0].cpu().numpy())
            print(f"{batches} batches embedded, passage {found} is nearest to the probe", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
