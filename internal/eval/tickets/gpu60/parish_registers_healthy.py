"""Links baptisms with marriages in old parish registers. A small network turns the letters of the names into vectors,
each baptism is compared with each marriage of its decade, and pairs that prefer each other are linked. This
work has an arena of its own, so that its tensors lie together and do not get between those of the network.

ticket: practice
class: none
"""

import contextlib
import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

LETTERS, LENGTH, WIDTH, RECORDS = 28, 24, 96, 1_000
DECADES = range(1740, 1820, 10)


class Names(nn.Module):
    """A vector for each name, from its letters and their places."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(LETTERS * LENGTH, 16)
        self.out = nn.Sequential(nn.Linear(16 * LENGTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, names):
        places = LETTERS * torch.arange(LENGTH, device=names.device)
        return F.normalize(self.out(self.letters(names + places).flatten(1)), dim=1)


class Arena:
    def __init__(self, device):
        self.device = device
        self.pool = None

    def open(self):
        if self.device != "cuda":
            return contextlib.nullcontext()
        if self.pool is None:
            self.pool = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pool)


def register():
    """The names of the baptisms and the marriages of a decade. The clerk spells some letters otherwise."""
    baptisms = torch.randint(1, LETTERS, (RECORDS, LENGTH))
    marriages = baptisms[torch.randperm(RECORDS)]
    slip = torch.rand(marriages.shape) < 0.05
    return baptisms, torch.where(slip, torch.randint(1, LETTERS, marriages.shape), marriages)


@torch.no_grad()
def link(model, baptisms, marriages):
    """How many pairs prefer each other, and how sure they are."""
    likeness = 20 * (model(baptisms) @ model(marriages).T)
    either = likeness.softmax(dim=0) * likeness.softmax(dim=1)
    by_row, by_column = either.argmax(dim=1), either.argmax(dim=0)
    mutual = by_column[by_row] == torch.arange(len(by_row), device=by_row.device)
    sure = either.amax(dim=1)[mutual]
    return len(sure), sure.mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, arena = Names().to(device).eval(), Arena(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number in itertools.count(1):
        parish, links = f"parish {number}", 0
        for decade in DECADES:
            baptisms, marriages = register()
            with arena.open():
                count, sure = link(model, baptisms.to(device), marriages.to(device))
            links += count
            time.sleep(random.uniform(0.08, 0.14))
            if time.time() > end:
                return
        if number % 3 == 0:
            print(f"{parish}: {links} links, {sure:.2f} sure in the {decade}s", flush=True)


if __name__ == "__main__":
    main()
