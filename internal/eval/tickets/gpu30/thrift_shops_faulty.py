"""A chain of thrift shops recommends single pieces to its customers. Each piece is there only once, so the stock turns
over: when a van has come, the table of the pieces is made anew and the tastes of the customers stay. Both are trained
on the visits with one Adam, in which the pieces have a higher learning rate.

ticket: practice
class: app-leak
holder: optimizer Adam param_groups
cause: optimizer-groups-added
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

CUSTOMERS, PIECES, WIDTH, VISITS = 20_000, 6_000, 64, 512


class Tastes(nn.Module):
    def __init__(self):
        super().__init__()
        self.customers = nn.Embedding(CUSTOMERS, WIDTH)
        self.pieces = nn.Embedding(PIECES, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, customers, pieces):
        return (self.mix(self.customers(customers)) * self.pieces(pieces)).sum(-1) / WIDTH**0.5


class Van:
    """Brings new pieces. Their hidden style decides which customers take them."""

    def __init__(self, device):
        self.device = device
        self.wishes = torch.randn(CUSTOMERS, 4, device=device)
        self.unload()

    def unload(self):
        self.styles = torch.randn(PIECES, 4, device=self.device)

    def visits(self):
        """Customers, and for each a piece that was taken and one that was left."""
        customers = torch.randint(CUSTOMERS, (VISITS,), device=self.device)
        pairs = torch.randint(PIECES, (2, VISITS), device=self.device)
        liking = (self.wishes[customers] * self.styles[pairs]).sum(-1)
        order = liking.argsort(dim=0, descending=True)
        taken, left = pairs.gather(0, order)
        return customers, taken, left


def restock(model, optimizer, device):
    model.pieces = nn.Embedding(PIECES, WIDTH).to(device)  # grows
    optimizer.add_param_group({"params": list(model.pieces.parameters()), "lr": 1e-2})  # keeps


def learn(model, optimizer, visits):
    customers, taken, left = visits
    loss = -F.logsigmoid(model(customers, taken) - model(customers, left)).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()  # grows
    return loss.item()


@torch.no_grad()
def test(model, visits):
    customers, taken, left = visits
    return (model(customers, taken) > model(customers, left)).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    model, van = Tastes().to(device), Van(device)
    optimizer = torch.optim.Adam([
        {"params": [*model.customers.parameters(), *model.mix.parameters()]},
        {"params": list(model.pieces.parameters()), "lr": 1e-2},
    ], lr=1e-3)
    vans, share = 0, 0.0
    while time.time() < end:
        for _ in range(random.randint(5, 14)):
            loss = learn(model, optimizer, van.visits())
            time.sleep(random.uniform(0.02, 0.06))
        share += test(model, van.visits())
        vans += 1
        if vans % 4 == 0:
            print(f"{vans} vans: loss {loss:.3f}, right order {share / 4:.2f}", flush=True)
            share = 0.0
        van.unload()
        restock(model, optimizer, device)


if __name__ == "__main__":
    main()
