"""A network tells genuine coins from forged ones by their relief, and it is trained against an attack: every batch is
shifted in the direction that misleads the network most (fast gradient sign). The attack's strength is drawn anew for
each sitting of some batches. On a GPU the attack is replayed from a CUDA graph.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

RELIEF, BATCH, SITTING = 1024, 512, 12


class Attack:
    def __init__(self, model, device):
        self.model, self.on_gpu = model, device == "cuda"
        self.coins = torch.zeros(BATCH, RELIEF, device=device)
        self.labels = torch.zeros(BATCH, dtype=torch.long, device=device)
        self.side = torch.cuda.Stream() if self.on_gpu else None
        self.strength = torch.zeros((), device=device)
        self.graph = None

    def shift(self):
        coins = self.coins.detach().requires_grad_()
        loss = F.cross_entropy(self.model(coins), self.labels)
        (slope,) = torch.autograd.grad(loss, coins)
        return self.coins + self.strength * slope.sign()

    def capture(self):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.shift()
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            shifted = self.shift()
        return graph, shifted

    def __call__(self, coins, labels, strength):
        self.coins.copy_(coins)
        self.labels.copy_(labels)
        self.strength.fill_(strength)
        if not self.on_gpu:
            return self.shift()
        if self.graph is None:
            self.graph = self.capture()
        graph, shifted = self.graph
        graph.replay()
        return shifted


def strike(device):
    """Reliefs of coins, of which the forged ones are a little blunt."""
    labels = torch.randint(2, (BATCH,), device=device)
    relief = torch.randn(BATCH, RELIEF, device=device)
    return torch.where(labels.bool()[:, None], relief.clamp(-1.2, 1.2), relief), labels


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(RELIEF, 512), nn.GELU(), nn.Linear(512, 256), nn.GELU(), nn.Linear(256, 2))
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    attack, sitting = Attack(model, device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        strength, right = random.uniform(0.005, 0.08), 0.0
        for _ in range(SITTING):
            coins, labels = strike(device)
            guesses = model(attack(coins, labels, strength))
            loss = F.cross_entropy(guesses, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (guesses.argmax(1) == labels).float().mean().item() / SITTING
            time.sleep(random.uniform(0.05, 0.12))
        sitting += 1
        if sitting % 2 == 0:
            print(f"sitting {sitting}: strength {strength:.3f}, {right:.2f} right", flush=True)


if __name__ == "__main__":
    main()
