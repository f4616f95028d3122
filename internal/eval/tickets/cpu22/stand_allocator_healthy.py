"""A bus garage learns on which stand to put each bus that comes home, so that few have to be moved in the morning.  A
shift is played through with the present policy, its steps go to a replay memory, and a value network learns from
steps drawn out of it.  The learner plays several short shifts each second.

ticket: practice
class: none
"""
import collections
import os
import random
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 6
STANDS = 40
STATE = 256
SHIFT_STEPS = 480
REPLAY_STEPS = 12_000
BATCH = 64

torch.set_num_threads(1)

Shift = collections.namedtuple("Shift", "states stands costs following")


class StandValues(nn.Module):
    """What it will cost to put the bus on each stand."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(STATE, 96), nn.ReLU(), nn.Linear(96, STANDS))

    def forward(self, states):
        return self.layers(states)


class Garage:
    """Plays one evening: buses come home, and each is given a stand."""

    def __init__(self):
        self.layout = torch.randn(STANDS, STATE) / STATE ** 0.5
        self.arrivals = torch.randn(64, SHIFT_STEPS, STATE)

    def play(self, values, evening, daring):
        states = torch.randn(SHIFT_STEPS, STATE).mul_(0.1).add_(self.arrivals[evening % 64])
        with torch.no_grad():
            stands = values(states).argmin(dim=1)
        adventurous = torch.rand(SHIFT_STEPS) < daring
        stands = torch.where(adventurous, torch.randint(STANDS, (SHIFT_STEPS,)), stands)
        costs = (states @ self.layout.t()).gather(1, stands.unsqueeze(1)).squeeze(1).abs()
        following = torch.roll(states, -1, dims=0)
        return Shift(states, stands, costs, following)


class ReplayMemory:
    """The steps from which the learner draws; whole shifts go in and out."""

    def __init__(self, capacity, rng):
        self.capacity = capacity
        self.rng = rng
        self._shifts = collections.deque()
        self.steps = 0

    def store(self, shift):
        self._shifts.append(shift)
        self.steps += len(shift.states)
        while self.steps > self.capacity:
            oldest = self._shifts.popleft()
            self.steps -= len(oldest.states)

    def draw(self, count):
        rows = []
        for _ in range(count):
            shift = self._shifts[self.rng.randrange(len(self._shifts))]
            step = self.rng.randrange(len(shift.states))
            rows.append((shift.states[step], shift.stands[step], shift.costs[step], shift.following[step]))
        return [torch.stack(column) for column in zip(*rows)]


class Learner:
    """Fits the values to the steps drawn from the memory."""

    def __init__(self, values, memory):
        self.values = values
        self.memory = memory
        self.optimizer = torch.optim.SGD(values.parameters(), lr=0.01)

    def learn(self):
        states, stands, costs, following = self.memory.draw(BATCH)
        with torch.no_grad():
            target = costs + 0.9 * self.values(following).min(dim=1).values
        guess = self.values(states).gather(1, stands.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(guess, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(2210)
    garage = Garage()
    values = StandValues()
    memory = ReplayMemory(REPLAY_STEPS, random.Random(2210))
    learner = Learner(values, memory)
    losses = collections.deque(maxlen=30)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        shift = garage.play(values, rounds, daring=max(0.05, 0.5 - 0.002 * rounds))
        memory.store(shift)
        losses.append(learner.learn())
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            print(f"evening {rounds:5d}  cost a bus {shift.costs.mean().item():.4f}  "
                  f"loss {sum(losses) / len(losses):.4f}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"learned from {rounds} evenings, last loss {losses[-1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
