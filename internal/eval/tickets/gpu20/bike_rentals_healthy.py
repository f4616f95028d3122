"""Random search for a network that says how many bicycles are rented in an hour, from weather and calendar. Each trial
draws an activation, a dropout and a learning rate and trains for a moment. Afterwards one of the better ones is trained
a bit further, so the best few are written down with the models that came out of them.

ticket: practice
class: none
"""

import math
import os
import random
import time
from dataclasses import dataclass, field

import torch
from torch import nn

HOURS, FEATURES, WIDTH, BATCH, KEPT = 6000, 24, 640, 32, 3
ACTIVATIONS = {"relu": nn.ReLU, "elu": nn.ELU, "silu": nn.SiLU}


@dataclass(frozen=True)
class Config:
    activation: str
    dropout: float
    rate: float

    @classmethod
    def draw(cls):
        return cls(random.choice(list(ACTIVATIONS)), random.uniform(0, 0.3), 10 ** random.uniform(-4, -2.3))


@dataclass(order=True)
class Trial:
    error: float
    config: Config = field(compare=False)
    model: nn.Module = field(compare=False)


def rentals(device):
    """Hours with their weather, and rentals: many on warm afternoons, few in rain."""
    weather = torch.randn(HOURS, FEATURES, device=device)
    hour = torch.arange(HOURS, device=device) % 24
    weather[:, 0] = torch.sin(2 * math.pi * hour / 24)
    count = 40 + 25 * weather[:, 0] + 12 * torch.tanh(weather[:, 1]) - 15 * weather[:, 2].clamp(min=0)
    return weather, count + 4 * torch.randn(HOURS, device=device)


def network(config):
    layers, width = [], FEATURES
    for _ in range(3):
        layers += [nn.Linear(width, WIDTH), ACTIVATIONS[config.activation](), nn.Dropout(config.dropout)]
        width = WIDTH
    return nn.Sequential(*layers, nn.Linear(width, 1), nn.Flatten(0))


def train(model, rate, data, steps):
    weather, count = data
    optimizer = torch.optim.Adam(model.train().parameters(), lr=rate)
    for _ in range(steps):
        chosen = torch.randint(HOURS - 400, (BATCH,), device=count.device)
        loss = nn.functional.smooth_l1_loss(model(weather[chosen]), count[chosen])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


@torch.no_grad()
def error(model, data):
    weather, count = data
    return (model.eval()(weather[-400:]) - count[-400:]).abs().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data, trials, done = rentals(device), [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        config = Config.draw()
        model = network(config).to(device)
        train(model, config.rate, data, random.randint(6, 12))
        trials = sorted([*trials, Trial(error(model, data), config, model)])[:KEPT]
        done += 1
        if done % 4 == 0:
            again = random.choice(trials)
            train(again.model, again.config.rate / 3, data, 8)
            again.error = error(again.model, data)
        if done % 8 == 0:
            best = min(trials)
            print("trial", done, "best off by", round(best.error, 2), "with", best.config, flush=True)
        time.sleep(random.uniform(0.1, 0.5))
    print(done, "trials, best off by", round(min(trials).error, 2), flush=True)


if __name__ == "__main__":
    main()
