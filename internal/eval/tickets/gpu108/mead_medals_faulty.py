"""Trains a model of the palate of the mead judges at a beekeeping fair.

Meads are described by their chemistry; the judges award one of five medals. The model is tried on a fixed tasting every
four seconds. The weights of the best tastings make the podium, and the medals are announced by the blend of the two
best.

ticket: practice
class: app-leak
holder: podium
cause: snapshots-kept
"""
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
TRAITS = 256
MEDALS = 5
BATCH = 32
PLACES = 2
TASTING_EVERY = 4.0
ROUNDS_PER_SECOND = 6


@dataclass
class Standing:
    """The weights of the model at one tasting, and how well they did."""

    score: float
    step: int
    weights: dict


class Cellar:
    """Makes meads and the medals that the judges give them."""

    def __init__(self):
        self.taste = torch.randn(TRAITS, MEDALS, device=DEVICE)

    def pour(self, count):
        meads = torch.randn(count, TRAITS, device=DEVICE)
        opinion = meads @ self.taste + 2.0 * torch.randn(count, MEDALS, device=DEVICE)
        return meads, opinion.argmax(dim=1)


def make_palate():
    return nn.Sequential(
        nn.Linear(TRAITS, 2048),
        nn.GELU(),
        nn.Linear(2048, 2048),
        nn.GELU(),
        nn.Linear(2048, 832),
        nn.GELU(),
        nn.Linear(832, MEDALS),
    ).to(DEVICE)


class Podium:
    """The standings, best first."""

    def __init__(self):
        self.podium = []

    def enter(self, score, step, model):
        weights = {name: value.detach().clone() for name, value in model.state_dict().items()}  # grows
        self.podium.append(Standing(score, step, weights))  # keeps
        self.podium.sort(key=lambda standing: standing.score, reverse=True)

    def best(self):
        return self.podium[:PLACES]

    def blend_head(self):
        """The last layer, averaged over the places."""
        heads = [standing.weights["6.weight"] for standing in self.best()]
        return sum(heads) / len(heads)


class Trainer:
    def __init__(self):
        self.cellar = Cellar()
        self.model = make_palate()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.podium = Podium()
        self.tasting = self.cellar.pour(256)
        self.steps = 0

    def train(self):
        meads, medals = self.cellar.pour(BATCH)
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(meads), medals)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    @torch.no_grad()
    def taste(self):
        meads, medals = self.tasting
        right = self.model(meads).argmax(dim=1) == medals
        score = right.float().mean().item()
        self.podium.enter(score, self.steps, self.model)
        return score


def announce(podium, rng):
    head = podium.blend_head()
    favourite = int(head.norm(dim=1).argmax())
    places = ", ".join(f"{standing.score:.2f} at step {standing.step}" for standing in podium.best())
    table = rng.randint(1, 12)
    return f"best {places}; medal {favourite + 1} is the most disputed at table {table}"


def main():
    torch.manual_seed(61)
    rng = random.Random(61)
    trainer = Trainer()
    start = time.monotonic()
    next_tasting = start
    loss = 0.0
    while (now := time.monotonic()) - start < SECONDS:
        loss = trainer.train()
        if now >= next_tasting:
            score = trainer.taste()
            print(f"step {trainer.steps}: loss {loss:.3f}, tasting {score:.3f}", flush=True)
            print(announce(trainer.podium, rng), flush=True)
            next_tasting += TASTING_EVERY
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"fair over after {trainer.steps} steps, loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
