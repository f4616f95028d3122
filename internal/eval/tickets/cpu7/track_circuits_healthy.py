"""Tells occupied track circuits from wet ballast, for the signals of a station throat.

The currents of all circuits run through a reservoir of random units, which remembers the last seconds. A readout on
top of the reservoir is corrected at each tick by the axle counters, with a normalised gradient step, so that it
follows the weather. The display shows how often the readout and the axle counters agree.

ticket: practice
class: none
"""
import math
import os
import time

import torch
from torch import nn

CIRCUITS = 60
SENSORS = 5
UNITS = 560
TICKS_PER_SECOND = 12
WINDOW = 36


class Ballast:
    """Currents of the circuits: trains shunt them, rain lets some of the current through the ballast."""

    def __init__(self):
        self.random = torch.Generator().manual_seed(5)
        self.occupied = torch.zeros(CIRCUITS, dtype=torch.bool)
        self.gain = 0.8 + 0.4 * torch.rand(CIRCUITS, SENSORS, generator=self.random)
        self.tick = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.tick += 1
        chance = torch.rand(CIRCUITS, generator=self.random)
        arriving = torch.roll(self.occupied, 1) & (chance < 0.35)
        leaving = self.occupied & (chance > 0.7)
        self.occupied = (self.occupied | arriving) & ~leaving
        self.occupied[::12] |= chance[::12] < 0.05
        wet = 0.3 + 0.25 * math.sin(self.tick / 70.0)
        noise = 0.15 * torch.randn(CIRCUITS, SENSORS, generator=self.random)
        current = (1.0 - 0.85 * self.occupied.float())[:, None] * (1.0 - wet)
        return current * self.gain + noise, self.occupied.float()


class Reservoir(nn.Module):
    """Random recurrent units that follow their inputs slowly."""

    def __init__(self, pace=0.4, radius=0.95):
        super().__init__()
        self.pace = pace
        self.drive = nn.Linear(SENSORS, UNITS)
        self.recur = nn.Linear(UNITS, UNITS, bias=False)
        nn.init.normal_(self.recur.weight, std=radius / math.sqrt(UNITS))
        nn.init.uniform_(self.drive.weight, -0.5, 0.5)
        self.state = torch.zeros(CIRCUITS, UNITS)

    def forward(self, currents):
        excited = torch.tanh(self.drive(currents) + self.recur(self.state))
        self.state = torch.lerp(self.state, excited, self.pace).detach()
        return self.state


class Readout:
    """One linear unit for all circuits, corrected by the axle counters."""

    def __init__(self, rate=0.5):
        self.rate = rate
        self.weight = torch.zeros(UNITS)
        self.offset = torch.zeros(())

    @torch.no_grad()
    def correct(self, features, occupied):
        guess = features @ self.weight + self.offset
        error = occupied - guess
        size = features.square().sum(dim=1).mean() + 1.0
        self.weight += self.rate * (error @ features) / (size * CIRCUITS)
        self.offset += 0.05 * error.mean()
        return (guess > 0.5) == (occupied > 0.5)


class Display:
    def __init__(self):
        self.agreed = torch.zeros(WINDOW)
        self.tick = 0

    def add(self, agreed):
        self.agreed[self.tick % WINDOW] = agreed.float().mean()
        self.tick += 1
        if self.tick % WINDOW == 0:
            print(f"tick {self.tick}: agreement {float(self.agreed.mean()):.1%}", flush=True)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(23)
    reservoir, readout, display = Reservoir(), Readout(), Display()
    started = time.monotonic()
    for tick, (currents, occupied) in enumerate(Ballast(), start=1):
        features = reservoir(currents)
        display.add(readout.correct(features, occupied))
        ahead = started + tick / TICKS_PER_SECOND - time.monotonic()
        time.sleep(max(ahead, 0.01))
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
