"""A recommender for pop-up perfume shops. The scents have vectors that all shops share, and each shop has a table of
its own regulars, which is learnt together with them by one optimizer. A shop opens, sells for a few days and closes
again, and its table goes with it.

ticket: practice
class: none
"""

import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SCENTS, WIDTH, REGULARS, BATCH = 5_000, 64, 2_500, 512
OPEN_AT_ONCE, DAYS_OPEN = 4, 6


class Chain(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.scents = nn.Parameter(0.1 * torch.randn(SCENTS, WIDTH, device=device))
        self.regulars = nn.ParameterDict()

    def forward(self, shop, customers, scents):
        return (self.regulars[shop][customers] * self.scents[scents]).sum(dim=1)


class Manager:
    """Opens and closes shops, and lets the optimizer know."""

    def __init__(self, chain):
        self.chain = chain
        self.optimizer = torch.optim.Adam([chain.scents], lr=1e-3)
        self.numbers = itertools.count(1)
        self.closing = {}

    def open(self, day):
        shop = f"shop{next(self.numbers)}"
        table = nn.Parameter(0.1 * torch.randn(REGULARS, WIDTH, device=self.chain.device))
        self.chain.regulars[shop] = table
        self.optimizer.add_param_group({"params": [table], "lr": 1e-2})
        self.closing[shop] = day + random.randint(2, DAYS_OPEN)

    def close(self, shop):
        table = self.chain.regulars[shop]
        groups = self.optimizer.param_groups
        self.optimizer.param_groups = [group for group in groups if group["params"][0] is not table]
        self.optimizer.state.pop(table, None)
        del self.chain.regulars[shop]
        del self.closing[shop]

    def morning(self, day):
        for shop in [shop for shop, last in self.closing.items() if last <= day]:
            self.close(shop)
        while len(self.closing) < OPEN_AT_ONCE:
            self.open(day)


def sales(device):
    """Who bought or put back which scent."""
    customers = torch.randint(REGULARS, (BATCH,), device=device)
    scents = torch.randint(SCENTS, (BATCH,), device=device)
    bought = ((customers + scents) % 3 == 0).float()
    return customers, scents, bought


def learn(chain, optimizer):
    optimizer.zero_grad(set_to_none=True)
    losses = []
    for shop in chain.regulars.keys():
        customers, scents, bought = sales(chain.device)
        losses.append(F.binary_cross_entropy_with_logits(chain(shop, customers, scents), bought))
    loss = torch.stack(losses).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    chain = Chain(device)
    manager = Manager(chain)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for day in itertools.count():
        if time.time() > end:
            break
        manager.morning(day)
        for _ in range(3):
            loss = learn(chain, manager.optimizer)
            time.sleep(0.04)
        if day % 10 == 0:
            names = ", ".join(chain.regulars.keys())
            print(f"day {day}: {names} are open, loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
