"""Compartment desk of a night train operator.

When a ticket window opens somewhere along the line, travellers ask for compartments in a burst; then the desk is at
rest for some seconds. For each party the desk works out a comfort map of the train (noise, heat, light and motion for
each berth and hour of the night), offers the best compartment and holds it until the party has decided: they confirm,
decline, or move to another compartment of the same train.

ticket: practice
class: app-leak
holder: _holds
cause: entries-left
"""
import itertools
import os
import random
import time
from collections import Counter
from dataclasses import dataclass, replace

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

REQUESTS_PER_S = 10
BURST = ("confirm",) * 8 + ("decline",) * 4 + ("move",) * 8
HOURS, COMPARTMENTS, FACTORS = 25, 32, 1024


@dataclass(frozen=True)
class Hold:
    number: int
    party: int
    compartment: int
    comfort: torch.Tensor


class ComfortModel:
    """Weighs what disturbs sleep along the route against the wishes of a party."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.route = torch.rand(8, HOURS, COMPARTMENTS, FACTORS, generator=self.generator, device=DEVICE)

    def comfort(self, night):
        wishes = torch.rand(FACTORS, generator=self.generator, device=DEVICE)
        return self.route[night % 8] * wishes  # grows

    @staticmethod
    def ranking(comfort):
        return comfort.mean(dim=(0, 2)).argsort(descending=True).tolist()


class CompartmentDesk:
    def __init__(self, seed=13):
        self.rng = random.Random(seed)
        self.model = ComfortModel(seed)
        self.numbers = itertools.count(1)
        self._holds = {}
        self.decisions = Counter()
        self.sold = Counter()

    def offer(self, party, night):
        comfort = self.model.comfort(night)
        best = self.model.ranking(comfort)[self.rng.randrange(4)]
        hold = Hold(next(self.numbers), party, best, comfort)
        self._holds[hold.number] = hold  # keeps
        return hold

    def confirm(self, number):
        hold = self._holds.pop(number)
        self.sold[hold.compartment] += 1
        return hold.compartment

    def decline(self, number):
        self._holds.pop(number)

    def move(self, number):
        """Hold another compartment for the same party, in the order of its own comfort map."""
        hold = self._holds[number]
        ranking = self.model.ranking(hold.comfort)
        other = ranking[(ranking.index(hold.compartment) + 1) % COMPARTMENTS]
        moved = replace(hold, number=next(self.numbers), compartment=other)
        self._holds[moved.number] = moved
        return moved

    def serve(self, party, night, decision):
        hold = self.offer(party, night)
        self.decisions[decision] += 1
        if decision == "decline":
            self.decline(hold.number)
            return None
        if decision == "move":
            hold = self.move(hold.number)
        return self.confirm(hold.number)

    def summary(self):
        favourite = self.sold.most_common(1)
        where = f"compartment {favourite[0][0]}" if favourite else "none"
        counts = ", ".join(f"{name} {self.decisions[name]}" for name in ("confirm", "move", "decline"))
        return f"{counts}; favourite {where}"


def rest(until):
    while time.monotonic() < until:
        time.sleep(0.1)


def main():
    torch.set_num_threads(1)
    desk = CompartmentDesk()
    rng = random.Random(99)
    parties = itertools.count(1)
    start = time.monotonic()
    end = start + SECONDS
    for night in itertools.count():
        if time.monotonic() >= end:
            break
        decisions = rng.sample(BURST, len(BURST))
        due = time.monotonic()
        for decision in decisions:
            if time.monotonic() >= end:
                break
            desk.serve(next(parties), night, decision)
            due += 1.0 / REQUESTS_PER_S
            time.sleep(max(0.0, due - time.monotonic()))
        print(f"{time.monotonic() - start:6.1f} s: {desk.summary()}", flush=True)
        rest(min(end, time.monotonic() + rng.uniform(2.0, 4.0)))
    print(f"desk closed: {desk.summary()}", flush=True)


if __name__ == "__main__":
    main()
