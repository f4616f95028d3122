"""The sorting offices of a post each train a small model of what their clerks type, and a centre averages what they
learn. An auditor wants proof that no update was changed afterwards, so the centre seals the stream of updates: each one
is pickled into a running SHA-256, whose state is printed with the rounds.

ticket: practice
class: host-growth
holder: pickler Pickler Seal memo
cause: pickler-memo-kept
"""

import copy
import hashlib
import os
import pickle
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LENGTH, OFFICES, ASKED = 1_500, 64, 10, 40, 4


class Typist(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.past = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.next = nn.Linear(WIDTH, WORDS)

    def forward(self, typed):
        return self.next(self.past(self.words(typed))[0])


class Digest:
    """A file that only hashes what is written to it."""

    def __init__(self):
        self.hash = hashlib.sha256()

    def write(self, data):
        self.hash.update(data)


class Seal:
    def __init__(self):
        self.digest = Digest()
        self.pickler = pickle.Pickler(self.digest, protocol=5)

    def add(self, turn, office, update):
        self.pickler.dump((turn, office, update))  # keeps

    def __str__(self):
        return self.digest.hash.hexdigest()[:12]


def typed(office, device):
    """What an office types: words from its own part of the list."""
    first = office * (WORDS // OFFICES)
    return torch.randint(first, first + WORDS // OFFICES, (16, LENGTH + 1), device=device)


def train(centre, office, device, steps=2):
    """Trains an office's copy of the model. Returns the change of each weight, and the loss."""
    local = copy.deepcopy(centre)
    optimizer = torch.optim.SGD(local.parameters(), lr=0.5)
    for _ in range(steps):
        batch = typed(office, device)
        loss = F.cross_entropy(local(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    old = dict(centre.named_parameters())
    update = {name: (new - old[name]).detach().cpu().numpy() for name, new in local.named_parameters()}  # grows
    return update, loss.item()


@torch.no_grad()
def average(centre, updates):
    for name, weight in centre.named_parameters():
        for update in updates:
            weight += torch.from_numpy(update[name]).to(weight.device) / len(updates)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    centre, seal, turn = Typist().to(device), Seal(), 0
    while time.time() < end:
        updates, losses = [], 0.0
        for office in random.sample(range(OFFICES), ASKED):
            update, loss = train(centre, office, device)
            seal.add(turn, office, update)
            updates.append(update)
            losses += loss
        average(centre, updates)
        turn += 1
        if turn % 5 == 0:
            print(f"round {turn}: loss {losses / ASKED:.3f}, seal {seal}", flush=True)
        time.sleep(random.uniform(0.2, 0.4))


if __name__ == "__main__":
    main()
