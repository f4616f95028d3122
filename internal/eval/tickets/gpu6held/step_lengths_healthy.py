"""A Lyapunov function is fitted with a search for the length of each step. The search notes the loss of each length
that it tries as a number.

ticket: StanfordASL/neural-network-lyapunov#140
class: none
"""

import dataclasses
import os
import random
import time

import torch
from torch import nn


@dataclasses.dataclass
class StepNote:
    step: int
    rate: float
    tried: list


class Lyapunov(nn.Module):
    def __init__(self, states=4, width=160):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(states, width), nn.LeakyReLU(0.1), nn.Linear(width, width),
                                 nn.LeakyReLU(0.1), nn.Linear(width, 8))
        self.root = nn.Parameter(torch.eye(states) * 0.3)

    def forward(self, x):
        zero = self.net(torch.zeros_like(x[:1]))
        return (self.net(x) - zero).square().sum(1) + (x @ self.root).square().sum(1)


def pendulums(x):
    """Two damped pendulums, one small step on."""
    angle, speed = x[:, :2], x[:, 2:]
    faster = speed - 0.05 * (torch.sin(angle) + 0.4 * speed)
    return torch.cat([angle + 0.05 * faster, faster], 1)


class LineSearch:
    """Halves the step until the loss gets smaller."""

    def __init__(self, parameters, rate=0.4, halvings=6):
        self.parameters, self.rate, self.halvings, self.notes = list(parameters), rate, halvings, []

    @torch.no_grad()
    def move(self, direction, amount):
        for parameter, part in zip(self.parameters, direction):
            parameter.add_(part, alpha=amount)

    def step(self, closure):
        loss = closure()
        direction = [-g for g in torch.autograd.grad(loss, self.parameters)]
        before, rate, tried = loss.item(), self.rate * random.uniform(0.5, 2), []
        for _ in range(self.halvings):
            self.move(direction, rate)
            new = closure()
            tried.append(new.item())
            if tried[-1] < before:
                break
            self.move(direction, -rate)
            rate /= 2
        self.notes.append(StepNote(len(self.notes), rate, tried))
        return before


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    function = Lyapunov().to(device)
    search = LineSearch(function.parameters())
    while time.time() < end:
        x = torch.randn(random.choice([96, 128, 192]), 4, device=device)

        def closure():
            here, there = function(x), function(pendulums(x))
            return torch.relu(there - 0.99 * here).mean() + torch.relu(0.1 * x.norm(dim=1) - here).mean()

        loss = search.step(closure)
        if len(search.notes) % 50 == 0:
            tries = sum(len(note.tried) for note in search.notes[-50:]) / 50
            print(len(search.notes), "steps, loss", round(loss, 5), "tries", tries, flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
