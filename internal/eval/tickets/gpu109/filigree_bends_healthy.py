"""Filigree is wire of gold or silver bent into scrolls and leaves.

A goldsmith's workshop has a small sequence model draw the bends of a new ornament, a stretch of wire at a time, and
looks at all of the stretch before. How much a bend may depend on one far back is a matter of the stiffness of the
wire and of the length of the ornament, and goes into the attention as a bias. Orders name the wire as it is written
on the spool.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BENDS = 48
WIDTH = 64
STRETCH = 64
SPOOLS = ("gold 0.30", "gold 0.45", "silver 0.40")
STIFFNESS = {"gold": 0.8, "silver": 1.1}
ORDERS_A_SECOND = 6


@dataclass(frozen=True)
class Wire:
    metal: str
    gauge: float

    @classmethod
    def from_label(cls, label):
        metal, gauge = label.split()
        return cls(metal, float(gauge))

    @property
    def reach(self):
        return 40.0 * STIFFNESS[self.metal] * self.gauge / 0.4


class ReachBias:
    """The bias on the attention between two bends, for a wire and a padded length."""

    def __init__(self):
        self._biases = {}
        self.asked = 0

    def for_wire(self, wire, length):
        self.asked += 1
        key = (wire, length)
        if key not in self._biases:
            self._biases[key] = self._work_out(wire, length)
        return self._biases[key]

    def _work_out(self, wire, length):
        place = torch.arange(length, device=DEVICE, dtype=torch.float32)
        back = place[:, None] - place[None, :]
        bias = back.div(-wire.reach)
        return torch.where(back < 0, torch.full_like(back, -1e9), bias)


class BendModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(BENDS, WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.head = nn.Linear(WIDTH, BENDS)

    def forward(self, bends, bias):
        inputs = self.embedding(bends)
        scores = self.query(inputs) @ self.key(inputs).t() / WIDTH**0.5 + bias
        mixed = inputs + torch.softmax(scores, dim=-1) @ self.value(inputs)
        return self.head(mixed + self.mix(mixed))


class Workshop:
    """Draws ornaments to order."""

    def __init__(self):
        self.model = BendModel().to(DEVICE).eval()
        self.reach = ReachBias()
        self.ornaments = 0
        self.bends = 0

    @torch.inference_mode()
    def draw(self, label, wanted):
        wire = Wire.from_label(label)
        padded = -(-wanted // STRETCH) * STRETCH
        bias = self.reach.for_wire(wire, padded)
        bends = torch.zeros(padded, dtype=torch.long, device=DEVICE)
        for begin in range(0, padded, STRETCH):
            end = begin + STRETCH
            logits = self.model(bends[:end], bias[:end, :end])
            chances = torch.softmax(logits[begin:end] / 0.9, dim=-1)
            bends[begin:end] = torch.multinomial(chances, 1).squeeze(1)
        self.ornaments += 1
        self.bends += wanted
        return bends[:wanted].tolist()


def waste(bends):
    """The share of bends that undo the bend before."""
    undone = sum(1 for before, after in zip(bends, bends[1:]) if before + after == BENDS - 1)
    return undone / len(bends)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(23)
    dice = random.Random(23)
    workshop = Workshop()
    start = time.monotonic()
    next_line = start + 4.0
    wasted = 0.0
    while time.monotonic() - start < SECONDS:
        begun = time.monotonic()
        ornament = workshop.draw(dice.choice(SPOOLS), dice.randint(193, 448))
        wasted = 0.95 * wasted + 0.05 * waste(ornament)
        if time.monotonic() >= next_line:
            next_line += 4.0
            print(f"{workshop.ornaments} ornaments, {workshop.bends} bends, waste {wasted:.4f}", flush=True)
        time.sleep(max(0.01, 1.0 / ORDERS_A_SECOND - (time.monotonic() - begun)))
    print(f"bench cleared: {workshop.ornaments} ornaments drawn", flush=True)


if __name__ == "__main__":
    main()
