"""Learns change ringing: which bell comes next in a touch, from the rows before it. The network is small and the calls
are many, so for the examination after each lesson its forward pass is captured as a CUDA graph and played back. A
graph is for one number of rows, and touches are of any length, so each is filled up to a thousand or two.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BELLS, WIDTH, BATCH, LESSON = 12, 512, 128, 8
SHORTEST, LONGEST = 400, 2000


def network():
    return nn.Sequential(
        nn.Linear(3 * BELLS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
        nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, BELLS),
    )


class Player:
    """Plays a network's forward pass back from CUDA graphs; without CUDA it just calls the network."""

    def __init__(self, model, device):
        self.model, self.device = model, device
        self.graphs = {}
        self.side = torch.cuda.Stream() if device == "cuda" else None

    def capture(self, count):
        given = torch.zeros(count, 3 * BELLS, device=self.device)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.model(given)
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = self.model(given)
        return graph, given, result

    @torch.no_grad()
    def __call__(self, rows):
        if self.side is None:
            return self.model(rows)
        count = -(-len(rows) // 1000) * 1000
        if count not in self.graphs:
            self.graphs[count] = self.capture(count)
        graph, given, result = self.graphs[count]
        given[:len(rows)].copy_(rows)
        graph.replay()
        return result[:len(rows)]


def touch(method, count, device):
    """Rows of a touch, three places back for each, and the bell that follows."""
    rows = torch.randn(count, 3 * BELLS, device=device)
    return rows, (rows @ method).argmax(dim=1)


def lesson(model, optimizer, method, device):
    for _ in range(LESSON):
        rows, bells = touch(method, BATCH, device)
        loss = F.cross_entropy(model(rows), bells)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        time.sleep(0.08)
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = network().to(device)
    method = torch.randn(3 * BELLS, BELLS, device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    player, lessons = Player(model, device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = lesson(model, optimizer, method, device)
        lessons += 1
        rows, bells = touch(method, random.randint(SHORTEST, LONGEST), device)
        right = (player(rows).argmax(dim=1) == bells).float().mean().item()
        if lessons % 5 == 0:
            print(f"lesson {lessons}: loss {loss:.3f}, {right:.2f} of {len(rows)} rows rung right", flush=True)


if __name__ == "__main__":
    main()
