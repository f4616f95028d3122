"""A learned governor for the overshot wheels of a mill valley.

Every wheel reports its speed, the head of water in its penstock and the torque at the stones. A recurrent
estimator follows the hidden state of each wheel and sets the sluice so that the stones turn evenly. Short stretches
of recorded operation are drawn to train the estimator while it runs the valley.

ticket: practice
class: none
"""
import os
import random
import time

import torch
from torch import nn

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
WHEELS = 96
HIDDEN = 192
TARGET_SPEED = 1.0


class Valley:
    """Wheels on one stream: inflow wanders, stones load the shaft, sluices let the water in."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.inflow = torch.full((WHEELS,), 0.8)
        self.speed = torch.ones(WHEELS)
        self.load = torch.rand(WHEELS, generator=self.generator) * 0.4 + 0.6

    def noise(self, scale):
        return torch.randn(WHEELS, generator=self.generator) * scale

    def step(self, sluice):
        self.inflow = (self.inflow + self.noise(0.02)).clamp(0.3, 1.4)
        self.load = (self.load + self.noise(0.01)).clamp(0.4, 1.2)
        drive = sluice * self.inflow * (1.8 - self.speed).clamp(min=0.0)
        self.speed = (self.speed + 0.2 * (drive - self.load * self.speed)).clamp(0.0, 2.5)

    def readings(self):
        head = self.inflow * 1.1 + self.noise(0.01)
        torque = self.load * self.speed + self.noise(0.02)
        return torch.stack([self.speed, head, torque], dim=1)


class Estimator(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(3, HIDDEN)
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)
        self.sluice = nn.Linear(HIDDEN, 1)
        self.next_speed = nn.Linear(HIDDEN, 1)

    def forward(self, readings, state):
        return self.cell(torch.tanh(self.lift(readings)), state)

    def opening(self, state):
        return torch.sigmoid(self.sluice(state)).squeeze(1) * 1.5


class Logbook:
    """The last stretch of readings, in a ring."""

    def __init__(self, length):
        self.readings = torch.zeros(length, WHEELS, 3)
        self.count = 0

    def write(self, readings):
        self.readings[self.count % len(self.readings)] = readings
        self.count += 1

    def stretch(self, chooser, length):
        filled = min(self.count, len(self.readings))
        first = chooser.randrange(filled - length)
        return self.readings[first:first + length].clone()


class Governor:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.chooser = random.Random(seed)
        self.estimator = Estimator()
        self.optimizer = torch.optim.SGD(self.estimator.parameters(), lr=5e-4)
        self.belief = torch.zeros(WHEELS, HIDDEN)
        self.logbook = Logbook(32)

    def govern(self, valley):
        readings = valley.readings()
        self.logbook.write(readings)
        self.belief = self.estimator(readings, self.belief).detach()
        with torch.no_grad():
            valley.step(self.estimator.opening(self.belief))

    def train(self, length=4):
        stretch = self.logbook.stretch(self.chooser, length + 1)
        state = torch.zeros(WHEELS, HIDDEN)
        loss = torch.zeros(())
        for now, after in zip(stretch[:-1], stretch[1:]):
            state = self.estimator(now, state)
            foreseen = self.estimator.next_speed(state).squeeze(1)
            loss = loss + (foreseen - after[:, 0]).square().mean()
            surplus = self.estimator.opening(state) * now[:, 1] - now[:, 2] / TARGET_SPEED
            loss = loss + 0.1 * surplus.square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item() / length


def main():
    valley = Valley(seed=12)
    governor = Governor(seed=3)
    started = time.monotonic()
    report_due = started + 2.0
    rounds = 0
    loss = float("nan")
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        governor.govern(valley)
        rounds += 1
        if rounds > 8 and rounds % 3 == 0:
            loss = governor.train()
        if time.monotonic() >= report_due:
            uneven = (valley.speed - TARGET_SPEED).abs().mean().item()
            print(f"round {rounds}: unevenness {uneven:.3f}, training loss {loss:.4f}", flush=True)
            report_due += 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - round_start)))
    print(f"gates shut after {rounds} rounds, mean speed {valley.speed.mean().item():.3f}", flush=True)


if __name__ == "__main__":
    main()
