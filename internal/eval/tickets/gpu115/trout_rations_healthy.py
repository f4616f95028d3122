"""Learns how much feed the ponds of a trout farm take at each hour.

Water temperature, oxygen and the weight of the fish go in, the ration for every feeder comes out. The farm drifts with
the season, so the learner falls back to its best weights when the error on the reference ponds climbs.

ticket: practice
class: none
"""
import math
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SENSORS = 256
HIDDEN = 768
FEEDERS = 256
BATCH = 16
JUDGE_EVERY = 3
PLACES = 3
PAUSE = 0.1


class RationNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.Linear(SENSORS, HIDDEN)
        self.give = nn.Linear(HIDDEN, FEEDERS)

    def forward(self, readings):
        return self.give(torch.relu(self.read(readings)))


class Farm:
    """Ponds with a hidden appetite that follows the season."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.appetite = torch.randn(SENSORS, FEEDERS, generator=self.generator) / math.sqrt(SENSORS)
        self.hour = 0

    def observe(self, count):
        self.hour += 1
        warmth = 1.0 + 0.3 * math.sin(self.hour / 90.0)
        readings = torch.randn(count, SENSORS, generator=self.generator)
        eaten = warmth * (readings @ self.appetite)
        return readings.to(DEVICE), eaten.to(DEVICE)


class Podium:
    """The best weights so far, in the order of their error."""

    def __init__(self, places):
        self.places = places
        self.ranking = []

    def enter(self, error, net):
        weights = {name: value.detach().clone() for name, value in net.state_dict().items()}
        self.ranking.append((error, weights))
        self.ranking.sort(key=lambda entry: entry[0])
        del self.ranking[self.places:]

    def best_error(self):
        return self.ranking[0][0] if self.ranking else float("inf")

    def typical_error(self):
        top = self.ranking[:self.places]
        return sum(error for error, _ in top) / max(1, len(top))

    def restore(self, net):
        net.load_state_dict(self.ranking[0][1])


class Learner:
    def __init__(self, farm):
        self.farm = farm
        self.net = RationNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.8)
        self.podium = Podium(PLACES)
        self.reference = farm.observe(64)
        self.restored = 0

    def train(self):
        readings, eaten = self.farm.observe(BATCH)
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.net(readings), eaten)
        loss.backward()
        self.optimizer.step()

    @torch.no_grad()
    def judge(self):
        readings, eaten = self.reference
        error = nn.functional.mse_loss(self.net(readings), eaten).item()
        if error > 1.5 * self.podium.best_error():
            self.podium.restore(self.net)
            self.restored += 1
        self.podium.enter(error, self.net)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    learner = Learner(Farm(seed=6))
    began = time.monotonic()
    spoken = began
    step = 0
    while time.monotonic() - began < SECONDS:
        learner.train()
        step += 1
        if step % JUDGE_EVERY == 0:
            learner.judge()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            podium = learner.podium
            print(f"hour {step}: best {podium.best_error():.4f}, top {podium.typical_error():.4f}", flush=True)
        time.sleep(PAUSE)
    print(f"season over: {step} hours, {learner.restored} times set back", flush=True)


if __name__ == "__main__":
    main()
