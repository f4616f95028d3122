"""Colour study for the restoration of a rose window.

A network learns, from colour readings taken across the tracery, which tint belongs to which place of the window.
The light outside drifts through the day, so the readings drift too. The studio keeps the best states of the
network at hand and returns to the best one when a spell of cloud has spoiled the fit.

ticket: practice
class: none
"""
import math
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 6
FEATURES = 512
READINGS = 24_000
BATCH = 384


class Window:
    """Colour readings at places on the window, with a slow drift of the daylight."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        places = torch.rand(READINGS, 2, generator=generator) * 2 - 1
        frequencies = torch.randn(2, FEATURES // 2, generator=generator) * 3
        waves = places @ frequencies
        self.features = torch.cat([waves.sin(), waves.cos()], dim=1).to(DEVICE)
        radius = places.norm(dim=1, keepdim=True)
        angle = torch.atan2(places[:, 1:], places[:, :1])
        petals = torch.cos(12 * angle) * (1 - radius)
        self.tints = torch.cat([petals, radius, torch.sin(6 * angle)], dim=1).to(DEVICE)
        self.generator = generator

    def readings(self, minute):
        rows = torch.randint(READINGS, (BATCH,), generator=self.generator).to(DEVICE)
        daylight = 1 + 0.2 * math.sin(minute / 40)
        return self.features[rows], self.tints[rows] * daylight


class TintNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(FEATURES, 512), nn.GELU(),
            nn.Linear(512, 512), nn.GELU(),
            nn.Linear(512, 3),
        )

    def forward(self, features):
        return self.body(features)


class StateShelf:
    """The best states of the network, ranked by their score."""

    def __init__(self, places):
        self.places = places
        self._ranked = []
        self._weights = {}

    def offer(self, minute, score, network):
        self._weights[minute] = {
            name: value.detach().clone() for name, value in network.state_dict().items()
        }
        self._ranked.append((score, minute))
        self._ranked.sort()
        for _, dropped in self._ranked[self.places:]:
            del self._weights[dropped]
        self._ranked = self._ranked[:self.places]

    def best(self):
        score, minute = self._ranked[0]
        return score, self._weights[minute]


class Studio:
    def __init__(self):
        torch.manual_seed(12)
        self.window = Window(seed=7)
        self.network = TintNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.05, momentum=0.8)
        self.shelf = StateShelf(places=4)
        self.average = None
        self.returns = 0

    def fit(self, minute):
        features, tints = self.window.readings(minute)
        if minute % 37 == 36:
            tints = tints + 0.6 * torch.randn_like(tints)
        loss = nn.functional.mse_loss(self.network(features), tints)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        score = loss.item()
        self.average = score if self.average is None else 0.9 * self.average + 0.1 * score
        return score

    def review(self, minute):
        self.shelf.offer(minute, self.average, self.network)
        score, weights = self.shelf.best()
        if self.average > 2.0 * score:
            self.network.load_state_dict(weights)
            self.average = score
            self.returns += 1


def main():
    studio = Studio()
    started = time.monotonic()
    minute = 0
    while time.monotonic() - started < SECONDS:
        studio.fit(minute)
        if minute % 2 == 0:
            studio.review(minute)
        if minute % 18 == 0:
            print(f"minute {minute:4d}  error {studio.average:.4f}  returns {studio.returns}", flush=True)
        minute += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    print(f"studio closed after {minute} minutes, error {studio.average:.4f}", flush=True)


if __name__ == "__main__":
    main()
