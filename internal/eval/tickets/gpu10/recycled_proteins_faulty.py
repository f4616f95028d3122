"""Chains of amino acids are folded by a small network that is run over and over on what it said before. The many small
kernels of a round are replayed as a CUDA graph, recorded for the exact length of a chain and kept for the next chain of
that length. Each graph has a pool of its own for what lies between input and output. Without a GPU no graph is made.

ticket: practice
class: pool-growth
holder: graphs
cause: cache-without-bound pool-never-trims compiled-functions-kept
"""

import os
import random
import time

import torch
from torch import nn

ACIDS, WIDTH, LONGEST = 20, 24, 224


class Triangle(nn.Module):
    """What two acids have to do with each other, by way of all the others."""

    def __init__(self):
        super().__init__()
        self.norm, self.left, self.right = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.gate, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, pair):
        x = self.norm(pair)
        left, right = self.left(x).permute(2, 0, 1), self.right(x).permute(2, 1, 0)
        through = (left @ right).permute(1, 2, 0) / len(x) ** 0.5
        return pair + torch.sigmoid(self.gate(x)) * self.out(through)


class Folder(nn.Module):
    """Moves the acids of a chain, once."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Embedding(ACIDS, WIDTH), nn.Embedding(ACIDS, WIDTH)
        self.far, self.blocks = nn.Linear(1, WIDTH), nn.Sequential(Triangle(), Triangle())
        self.pull = nn.Linear(WIDTH, 1)

    def forward(self, acids, places):
        way = places[None] - places[:, None]
        far = way.square().sum(-1, keepdim=True).add(1e-4).sqrt()
        pair = self.first(acids)[:, None] + self.second(acids)[None] + self.far(far / 10)
        pull = torch.tanh(self.pull(self.blocks(pair))) * (1 - 3.8 / far.clamp(min=1))
        return places + 0.3 * (pull * way).mean(1)


class Recycler:
    def __init__(self, device):
        self.device, self.folder, self.graphs = device, Folder().to(device).eval(), {}
        self.side = torch.cuda.Stream() if device == "cuda" else None

    def record(self, length):
        """The graph of a round for chains of this length, with what it reads and writes."""
        acids = torch.zeros(length, dtype=torch.long, device=self.device)
        places = torch.randn(length, 3, device=self.device)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for _ in range(2):
                self.folder(acids, places)
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.side):  # grows
            moved = self.folder(acids, places)  # grows
        return graph, acids, places, moved

    def fold(self, chain, rounds):
        places = torch.cumsum(torch.randn(len(chain), 3, device=self.device), 0)
        if self.device == "cpu":
            for _ in range(rounds):
                places = self.folder(chain, places)
            return places
        if len(chain) not in self.graphs:
            self.graphs[len(chain)] = self.record(len(chain))  # keeps
        graph, acids, current, moved = self.graphs[len(chain)]
        acids.copy_(chain)
        current.copy_(places)
        for _ in range(rounds):
            graph.replay()
            current.copy_(moved)
        return current.clone()


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    recycler, folded = Recycler("cuda" if torch.cuda.is_available() else "cpu"), 0
    while time.time() < end:
        chain = torch.randint(ACIDS, (random.randint(96, LONGEST),), device=recycler.device)
        for _ in range(random.randint(3, 5)):
            places = recycler.fold(chain, random.randint(3, 8))
            time.sleep(random.uniform(0.2, 0.6))
        folded += 1
        if folded % 3 == 0:
            wide = (places - places.mean(0)).square().sum(1).mean().sqrt()
            print(folded, "chains, the last of", len(chain), "acids, radius", round(float(wide), 2), flush=True)


if __name__ == "__main__":
    main()
