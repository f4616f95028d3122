"""Which badgers will meet tonight? Their collars report each meeting, and a temporal graph network keeps a memory of
every animal that each meeting updates. The trained model runs on the stream and says how much each batch surprised it.

ticket: practice
class: app-leak
holder: memory Memory grad_fn
cause: uncut-autograd-graph
"""

import os
import random
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

BADGERS, WIDTH, CLOCK = 3_000, 192, 32
BATCHES = (96, 128, 160)


class Clock(nn.Module):
    """Waves of the time that has passed."""

    def __init__(self):
        super().__init__()
        self.rates = nn.Parameter(torch.logspace(0, -4, CLOCK))
        self.phases = nn.Parameter(torch.zeros(CLOCK))

    def forward(self, passed):
        return torch.cos(passed[:, None] * self.rates + self.phases)


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.cell = nn.GRUCell(WIDTH + CLOCK, WIDTH)
        self.register_buffer("memory", torch.zeros(BADGERS, WIDTH))
        self.register_buffer("last_seen", torch.zeros(BADGERS))

    def update(self, ones, others, now):
        """Each of the ones hears of the other."""
        passed = now - self.last_seen[ones]
        messages = torch.cat([self.memory[others], self.clock(passed)], dim=1)  # grows
        updated = self.cell(messages, self.memory[ones])  # grows
        self.memory[ones] = updated  # keeps
        self.last_seen[ones] = now


class Meetings(nn.Module):
    def __init__(self):
        super().__init__()
        self.animals = Memory()
        self.score = nn.Bilinear(WIDTH, WIDTH, 1)

    def surprise(self, ones, others):
        memory = self.animals.memory
        strangers = others[torch.randperm(len(others), device=others.device)]
        met = self.score(memory[ones], memory[others])
        not_met = self.score(memory[ones], memory[strangers])
        return F.softplus(not_met - met).mean().item()

    def forward(self, ones, others, now):
        surprise = self.surprise(ones, others)
        self.animals.update(ones, others, now)
        self.animals.update(others, ones, now)
        return surprise


def meetings(size):
    """Pairs of animals, each animal at most once in a batch."""
    animals = torch.randperm(BADGERS)[:2 * size]
    return animals[:size], animals[size:]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(11)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Meetings().to(device).eval()
    recent, batches, started = deque(maxlen=50), 0, time.time()
    end = started + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        ones, others = meetings(random.choice(BATCHES))
        recent.append(model(ones.to(device), others.to(device), time.time() - started))
        batches += 1
        if batches % 20 == 0:
            print(f"batch {batches}: surprise {sum(recent) / len(recent):.4f}", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
