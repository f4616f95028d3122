"""Forecast of the next flush on a mushroom farm.

A small regression network learns from the climate log of the fruiting rooms (temperature, humidity, carbon dioxide
and the age of the casing layer) how many kilograms the next flush will bring. After every few steps the network is
scored on a held-out shelf, and the weights with the best scores are ranked, so that the office can publish the
forecast of the best one.

ticket: practice
class: none
"""
import os
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)

ROOMS = 12
READINGS = 48
WIDTH = 1100
BATCH = 16
STEPS_PER_SCORE = 5
PACE = 0.2


class ClimateLog:
    """Made-up climate readings with the yield that followed them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.mixing = self.rng.normal(0.0, 0.3, size=(READINGS, 1))
        self.room_bias = self.rng.normal(0.0, 0.5, size=ROOMS)

    def draw(self, count):
        rooms = self.rng.integers(0, ROOMS, size=count)
        readings = self.rng.normal(0.0, 1.0, size=(count, READINGS))
        kilos = np.tanh(readings @ self.mixing) * 4.0 + 9.0
        kilos = kilos + self.room_bias[rooms, None] + self.rng.normal(0.0, 0.2, size=(count, 1))
        return torch.tensor(readings, dtype=torch.float32), torch.tensor(kilos, dtype=torch.float32)


def build_network():
    return nn.Sequential(
        nn.Linear(READINGS, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, 1),
    )


class FlushTrainer:
    """Trains the network and ranks its weights by their score on the held-out shelf."""

    places = 3

    def __init__(self, log):
        self.log = log
        self.network = build_network()
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.002, momentum=0.8)
        self.shelf = log.draw(32)
        self.podium = []
        self.steps = 0
        self.last_loss = 0.0

    def step(self):
        readings, kilos = self.log.draw(BATCH)
        self.optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(self.network(readings), kilos)
        loss.backward()
        self.optimizer.step()
        self.last_loss = loss.item()
        self.steps += 1

    @torch.no_grad()
    def score(self):
        readings, kilos = self.shelf
        return (self.network(readings) - kilos).abs().mean().item()

    def rank(self):
        score = self.score()
        weights = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        self.podium.append((score, self.steps, weights))
        self.podium.sort(key=lambda entry: entry[:2])
        del self.podium[self.places:]
        return score

    @torch.no_grad()
    def forecast(self):
        """Average forecast of the best places for one fresh set of readings."""
        readings, _ = self.log.draw(4)
        totals = []
        for _, _, weights in self.podium[:self.places]:
            hidden = torch.relu(nn.functional.linear(readings, weights["0.weight"], weights["0.bias"]))
            hidden = torch.relu(nn.functional.linear(hidden, weights["2.weight"], weights["2.bias"]))
            totals.append(nn.functional.linear(hidden, weights["4.weight"], weights["4.bias"]).mean().item())
        return sum(totals) / len(totals)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(11)
    trainer = FlushTrainer(ClimateLog(seed=4))
    spoken = time.time()
    while time.time() < end:
        begun = time.time()
        trainer.step()
        if trainer.steps % STEPS_PER_SCORE == 0:
            score = trainer.rank()
            if time.time() - spoken > 3.0:
                spoken = time.time()
                best = trainer.podium[0][0]
                print(f"step {trainer.steps} loss {trainer.last_loss:.3f} shelf {score:.3f} best {best:.3f} "
                      f"forecast {trainer.forecast():.2f} kg", flush=True)
        time.sleep(max(0.0, PACE - (time.time() - begun)))
    print(f"done after {trainer.steps} steps", flush=True)


if __name__ == "__main__":
    main()
