"""A classifier of aerial pictures tells sound thatched roofs from worn ones. It is tuned a little at a time: a gate
lets the gradient of a random share of each large weight through, and after a few steps the gate is drawn anew.

ticket: practice
class: none
"""

import functools
import logging
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

log = logging.getLogger("thatch")


@dataclass(frozen=True)
class Settings:
    share: float = 0.3
    steps_in_round: int = 4
    batch: int = 16
    side: int = 32
    width: int = 1024
    gated_from: int = 100_000


class Roofs(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.eyes = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
                                  nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten())
        seen = 32 * (settings.side // 4) ** 2
        self.head = nn.Sequential(nn.Linear(seen, settings.width), nn.ReLU(),
                                  nn.Linear(settings.width, settings.width), nn.ReLU(), nn.Linear(settings.width, 2))

    def forward(self, pictures):
        return self.head(self.eyes(pictures))


class Gate:
    """Lets the gradients of a share of each large weight through."""

    def __init__(self, settings):
        self.settings, self.handles = settings, []

    def _chosen(self, model):
        return [weight for weight in model.parameters() if weight.numel() >= self.settings.gated_from]

    def _lay(self, weight):
        mask = torch.rand_like(weight) < self.settings.share
        return weight.register_hook(functools.partial(torch.mul, mask))

    def renew(self, model):
        for handle in self.handles:
            handle.remove()
        self.handles = [self._lay(weight) for weight in self._chosen(model)]
        return len(self.handles)


class Tuner:
    def __init__(self, settings, device):
        self.settings, self.device = settings, device
        self.model, self.gate = Roofs(settings).to(device), Gate(settings)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.rounds = 0

    def _batch(self):
        size = self.settings.batch, 3, self.settings.side, self.settings.side
        worn = torch.randint(2, size[:1], device=self.device)
        return torch.randn(size, device=self.device) + 0.2 * worn[:, None, None, None], worn

    def step(self):
        pictures, worn = self._batch()
        loss = F.cross_entropy(self.model(pictures), worn)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def round(self):
        gated = self.gate.renew(self.model)
        losses = []
        for _ in range(self.settings.steps_in_round):
            losses.append(self.step())
            time.sleep(random.uniform(0.03, 0.08))
        self.rounds += 1
        if self.rounds % 10 == 0:
            log.info("round %d: %d weights gated, loss %.3f", self.rounds, gated, sum(losses) / len(losses))


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    tuner = Tuner(Settings(), device)
    while time.time() < end:
        tuner.round()
    print(tuner.rounds, "rounds", flush=True)


if __name__ == "__main__":
    main()
