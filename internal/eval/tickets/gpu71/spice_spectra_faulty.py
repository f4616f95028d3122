"""Spice merchants send the spectra of their samples to a server and get embeddings back, by which they find adulterated
ones. A delivery has any number of samples. The network is small and its launches cost more than its arithmetic, so the
server captures it into a CUDA graph and replays that when a delivery of the same size comes.

ticket: practice
class: pool-growth
holder: replays Server Replay
cause: captured-graphs-kept per-shape-compile-cache cache-without-bound
"""

import asyncio
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BANDS, WIDTH, MOST = 64, 64, 4_000


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(BANDS, WIDTH, bias=False)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(6))

    def forward(self, spectra):
        hidden = self.start(spectra)
        for layer in self.layers:
            hidden = hidden + F.gelu(layer(hidden))
        return F.normalize(hidden, dim=1)


class Replay:
    """The network for one number of rows; without CUDA it is simply called."""

    def __init__(self, model, rows, stream, device):
        self.model, self.graph = model, None
        self.inputs = torch.zeros(rows, BANDS, device=device)  # grows
        if device == "cuda":
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                model(self.inputs)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=stream):
                self.outputs = model(self.inputs)  # grows

    def __call__(self, spectra):
        self.inputs[: len(spectra)].copy_(spectra)
        if self.graph is None:
            return self.model(self.inputs)[: len(spectra)]
        self.graph.replay()
        return self.outputs[: len(spectra)]


class Server:
    def __init__(self, device):
        self.device, self.model = device, Embedder().to(device).eval()
        self.stream = torch.cuda.Stream() if device == "cuda" else None
        self.replays = {}

    @torch.no_grad()
    def embed(self, spectra):
        rows = len(spectra)
        if rows not in self.replays:
            self.replays[rows] = Replay(self.model, rows, self.stream, self.device)  # grows keeps
        return self.replays[rows](spectra).cpu()


async def merchant(server, served, end):
    """Sends deliveries and looks for the sample that is least like the others."""
    await asyncio.sleep(random.random())
    while time.time() < end:
        spectra = torch.rand(random.randint(1, MOST), BANDS).cumsum(1) / BANDS
        vectors = server.embed(spectra)
        strange = int((vectors @ vectors.mean(0)).argmin())
        served.append(f"{len(spectra)} samples, the strangest is {strange}")
        await asyncio.sleep(random.uniform(0.4, 1.1))


async def report(served, end):
    deliveries = 0
    while time.time() < end:
        await asyncio.sleep(2)
        deliveries += len(served)
        print(f"{deliveries} deliveries; the last: {served[-1] if served else '-'}", flush=True)
        served.clear()


async def main():
    torch.set_num_threads(1)
    server, served = Server("cuda" if torch.cuda.is_available() else "cpu"), []
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(report(served, end), *(merchant(server, served, end) for _ in range(3)))


if __name__ == "__main__":
    asyncio.run(main())
