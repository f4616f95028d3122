"""Ships are looked for on radar pictures of the sea. Most of what is wrongly taken for a ship is waves and wind; the
worst of these places are cut out and learnt again. They are in a heap, out of which the best one falls when there is a
worse one.

ticket: practice
class: none
"""

import heapq
import itertools
import os
import random
import time

import numpy as np
import torch
from torch import nn

SIDE, CUT, EACH, AGAIN, ROOM = 768, 96, 40, 16, 200


class Detector(nn.Module):
    """How much a piece of sea looks like a ship."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(2, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
                                    nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                    nn.Linear(32, 1))

    def forward(self, cuts):
        return self.layers(cuts)[:, 0]


class Hardest:
    """The places that were taken for ships and are none."""

    def __init__(self):
        self.heap, self.count = [], itertools.count()

    def add(self, chance, cut):
        push = heapq.heappush if len(self.heap) < ROOM else heapq.heappushpop
        push(self.heap, (chance, next(self.count), cut))

    def worst(self, many):
        return [cut for _, _, cut in heapq.nlargest(many, self.heap)]


def sea():
    """A picture in both polarizations, and where the ships are."""
    rough = np.random.gamma(random.uniform(1, 4), 0.2, (2, SIDE, SIDE)).astype(np.float32)
    swell = np.sin(np.arange(SIDE) / random.uniform(5, 30))[:, None].astype(np.float32)
    picture = rough * (1 + 0.4 * swell)
    ships = np.random.randint(0, SIDE - CUT, (8, 2))
    for row, column in ships:
        long = random.randint(8, 24)
        picture[:, row + 48 - long:row + 48 + long, column + 44:column + 52] += random.uniform(0.5, 2)
    return picture, ships


def cut_at(picture, row, column):
    return picture[:, row:row + CUT, column:column + CUT].copy()


def learn(model, optimizer, cuts, ships, device):
    wanted = torch.zeros(len(cuts), device=device)
    wanted[:ships] = 1
    said = model(torch.from_numpy(np.stack(cuts)).to(device))
    loss = nn.functional.binary_cross_entropy_with_logits(said, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, hardest, pictures = Detector().to(device), Hardest(), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        picture, ships = sea()
        places = [place for place in np.random.randint(0, SIDE - CUT, (EACH, 2))
                  if np.abs(ships - place).max(1).min() > CUT // 2]
        empty = [cut_at(picture, *place) for place in places]
        with torch.no_grad():
            chances = torch.sigmoid(model(torch.from_numpy(np.stack(empty)).to(device))).tolist()
        for chance, cut in zip(chances, empty):
            hardest.add(chance, cut)
        cuts = [cut_at(picture, *ship) for ship in ships] + hardest.worst(AGAIN)
        loss = learn(model, optimizer, cuts, len(ships), device)
        pictures += 1
        if pictures % 10 == 0:
            print("picture", pictures, "loss", round(loss, 3), "false", round(max(chances), 3), flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
