"""Tunes a language model on the logbooks of whalers, one ship after the other. So that the rare words of a ship don't
upset the embeddings, they are held to where they were when the ship's turn began: a hook adds a pull to their gradient.

ticket: practice
class: app-leak
holder: hooks weight words
cause: hooks-left closure-kept snapshots-kept
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, BATCH, LENGTH = 14_000, 192, 8, 24
SHIPS = "Acushnet", "Essex", "Charles W. Morgan", "Ann Alexander", "Lagoda"


class Log(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.reader = nn.GRU(WIDTH, 256, batch_first=True)
        self.back = nn.Linear(256, WIDTH)

    def forward(self, tokens):
        hidden, _ = self.reader(self.words(tokens))
        return self.back(hidden) @ self.words.weight.T


def hold(weight, strength):
    """Pulls the weight to its present value from now on."""
    anchor = weight.detach().clone()  # grows
    return weight.register_hook(lambda grad: grad + strength * (weight.detach() - anchor))  # keeps


def pages(count):
    """Pages of one ship's logbook: she has her own favourite words."""
    favourites = torch.randint(WORDS, (600,))
    for _ in range(count):
        yield favourites[torch.randint(600, (BATCH, LENGTH + 1))]


def tune(model, optimizer, count, device):
    """The mean loss on so many pages of a new ship."""
    hold(model.words.weight, strength=1e-4)
    total = 0.0
    for tokens in pages(count):
        tokens = tokens.to(device)
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        time.sleep(random.uniform(0.03, 0.08))
    return total / count


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Log().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    end, voyage = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        ship = SHIPS[voyage % len(SHIPS)]
        loss = tune(model, optimizer, random.randint(6, 10), device)
        voyage += 1
        print(f"voyage {voyage} of the {ship}: loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
