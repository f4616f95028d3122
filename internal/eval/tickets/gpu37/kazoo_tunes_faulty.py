"""Learns to name the tune that is hummed into a kazoo from its pitches. The model is so small that launching its
kernels takes longer than they run, therefore a training step is captured as a CUDA graph and replayed. The learning
rate falls with the root of the number of bouts, and a step that was captured for a rate is used again.

ticket: practice
class: pool-growth
holder: steps GraphedSteps graphs
cause: captured-graphs-kept cache-without-bound
"""

import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

PITCHES, HIDDEN, TUNES, HUMS = 256, 768, 40, 256
FIRST_RATE, STEPS_OF_A_BOUT = 0.1, 12


class GraphedSteps:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.params = list(model.parameters())
        self.hums = torch.zeros(HUMS, PITCHES, device=device)
        self.tunes = torch.zeros(HUMS, dtype=torch.long, device=device)
        self.graphs = {}
        if device == "cuda":
            self.warm_up()

    def step(self, rate):
        loss = F.cross_entropy(self.model(self.hums), self.tunes)
        grads = torch.autograd.grad(loss, self.params)
        with torch.no_grad():
            for param, grad in zip(self.params, grads):
                param.sub_(grad, alpha=rate)
        return loss.detach()

    def warm_up(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step(0.0)
        torch.cuda.current_stream().wait_stream(side)

    def capture(self, rate):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.step(rate)  # grows
        return graph, loss

    def run(self, rate, hums, tunes):
        self.hums.copy_(hums)
        self.tunes.copy_(tunes)
        if self.device != "cuda":
            return self.step(rate)
        if rate not in self.graphs:
            self.graphs[rate] = self.capture(rate)  # keeps
        graph, loss = self.graphs[rate]
        graph.replay()
        return loss


class RootSchedule:
    def __init__(self, first):
        self.first, self.bouts = first, 0

    def next_rate(self):
        self.bouts += 1
        return self.first / self.bouts ** 0.5


def hummed(book, device):
    """Tunes from the book, out of tune."""
    tunes = torch.randint(TUNES, (HUMS,), device=device)
    return book[tunes] + 0.8 * torch.randn(HUMS, PITCHES, device=device), tunes


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(
        nn.Linear(PITCHES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, TUNES),
    ).to(device)
    steps, schedule = GraphedSteps(model, device), RootSchedule(FIRST_RATE)
    book = torch.randn(TUNES, PITCHES, device=device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for bout in itertools.count(1):
        if time.time() > end:
            break
        rate = schedule.next_rate()
        for _ in range(STEPS_OF_A_BOUT):
            loss = steps.run(rate, *hummed(book, device))
            time.sleep(random.uniform(0.05, 0.1))
        if bout % 3 == 0:
            print(f"bout {bout}: rate {rate:.4f}, loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
