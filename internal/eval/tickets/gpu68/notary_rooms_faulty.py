"""Sums up the deeds of four notaries. They must not see each other's texts, not even as what is left in a freed block
of memory, so the work on a deed is done in a memory pool that belongs to it.

ticket: practice
class: pool-growth
holder: pools Rooms rooms
cause: pool-never-trims entries-left
"""

import os
import random
import time
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import nn

WORDS, WIDTH, SUMMARY = 4_000, 128, 5
NOTARIES = "Abel", "Bruhn", "Castro", "Dupont"


class Deed(NamedTuple):
    number: int
    notary: str
    text: torch.Tensor


class Rooms:
    """A room of its own in the memory of the device."""

    def __init__(self, device):
        self.device, self.pools = device, {}

    def enter(self, deed):
        if self.device == "cpu":
            return nullcontext()
        key = deed.notary, deed.number
        if key not in self.pools:
            self.pools[key] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[key])


class Clerk(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.reader = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.weigh = nn.Linear(WIDTH, 1)

    def forward(self, text):
        """How likely each word is to be the next one of the summary."""
        hidden, _ = self.reader(self.words(text)[None])  # grows
        share = self.weigh(hidden).softmax(dim=1)
        scores = hidden[0] @ self.words.weight.T  # grows
        return (share[0] * scores).sum(dim=0).softmax(dim=0)


@torch.no_grad()
def sum_up(clerk, rooms, deed):
    with rooms.enter(deed):
        text, summary = deed.text.to(rooms.device), []  # grows
        for _ in range(SUMMARY):
            word = torch.multinomial(clerk(text), 1)  # grows
            summary.append(word.item())
            text = torch.cat([text[1:], word])
            time.sleep(random.uniform(0.12, 0.25))
        del text, word
    return summary


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    clerk, rooms, number = Clerk().to(device).eval(), Rooms(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        text = torch.randint(WORDS, (random.choice((240, 320, 400)),))
        deed = Deed(number, NOTARIES[number % len(NOTARIES)], text)
        summary = sum_up(clerk, rooms, deed)
        number += 1
        if number % 5 == 0:
            print(f"deed {number} of {deed.notary}: {summary}", flush=True)


if __name__ == "__main__":
    main()
