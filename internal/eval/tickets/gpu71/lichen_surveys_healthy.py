"""Botanists label photographs of lichens, and the program chooses which ones they see. In every round the species list
is revised, so the classifier gets a fresh head, while the encoder below goes on learning from where it was. Then
the photographs with the most uncertain answers go to the botanists, and both parts are trained on their labels.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

PIXELS, WIDTH, HIDDEN = 384, 512, 1024
CANDIDATES, CHOSEN, PASSES = 512, 64, 6


def encoder(device):
    layers = nn.Linear(PIXELS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU()
    return nn.Sequential(*layers).to(device)


def fresh_head(optimizer, species, device):
    """A head for this list of species, known to the optimizer."""
    head = nn.Sequential(
        nn.Linear(WIDTH, HIDDEN, device=device),
        nn.ReLU(),
        nn.Linear(HIDDEN, species, device=device),
    )
    for group in optimizer.param_groups[1:]:
        for weight in group["params"]:
            optimizer.state.pop(weight, None)
    del optimizer.param_groups[1:]
    optimizer.add_param_group({"params": head.parameters(), "lr": 1e-3})
    return head


@torch.no_grad()
def most_uncertain(body, head, photos):
    """The photographs for which the two best species are closest."""
    best = head(body(photos)).softmax(1).topk(2).values
    return photos[(best[:, 0] - best[:, 1]).argsort()[:CHOSEN]]


def botanists(photos, species):
    """Their labels, right most of the time."""
    labels = (photos[:, :8].sum(1).abs() * 7).long() % species
    wrong = torch.rand(len(labels), device=labels.device) < 0.1
    return torch.where(wrong, torch.randint_like(labels, species), labels)


def train(body, head, optimizer, photos, labels):
    for _ in range(PASSES):
        loss = F.cross_entropy(head(body(photos)), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    body = encoder(device)
    optimizer = torch.optim.AdamW(body.parameters(), lr=1e-4)
    rounds = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        species = random.randint(30, 40)
        head = fresh_head(optimizer, species, device)
        photos = most_uncertain(body, head, torch.randn(CANDIDATES, PIXELS, device=device))
        loss = train(body, head, optimizer, photos, botanists(photos, species))
        rounds += 1
        if rounds % 10 == 0:
            print(f"round {rounds}: {species} species, loss {loss:.3f}", flush=True)
        time.sleep(random.uniform(0.2, 0.4))


if __name__ == "__main__":
    main()
