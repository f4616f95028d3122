"""Wagon tracker of a freight yard with camera portals at both ends.

Trains come in past the western portal, which takes a signature of every wagon's side. The wagons stand in the yard
until they are made up into outbound trains, and the eastern portal checks each one against its signature. Wagons with
a defect are cut out and drawn to the repair shop over a spur without a portal.

ticket: practice
class: app-leak
holder: _signatures
cause: entries-left
"""
import os
import random
import time
from collections import OrderedDict
from dataclasses import dataclass

import torch
import torch.nn.functional as F

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_A_SECOND = 4.0
ROWS, COLUMNS = 128, 1024
TRAIN_LENGTH = 6
YARD_HOLDS = 48
DEFECT_SHARE = 0.3


@dataclass
class Wagon:
    number: str
    kind: str
    defect: bool


class Portal:
    """A gantry with a line camera: makes the signature of a wagon's side."""

    def __init__(self, seed):
        self._random = torch.Generator(device=DEVICE).manual_seed(seed)
        self._optics = torch.randn(ROWS, ROWS, generator=self._random, device=DEVICE) / ROWS ** 0.5

    def scan(self):
        side = torch.randn(ROWS, COLUMNS, generator=self._random, device=DEVICE)
        return F.normalize(self._optics @ side, dim=0)  # grows

    def rescan(self, signature):
        grime = torch.randn(ROWS, COLUMNS, generator=self._random, device=DEVICE)
        return F.normalize(signature + 0.02 * grime, dim=0)


class YardTracker:
    """Knows which wagons stand in the yard and what they look like."""

    def __init__(self, west, east):
        self._west = west
        self._east = east
        self._standing = OrderedDict()
        self._signatures = {}
        self.departed = 0
        self.shopped = 0
        self.doubtful = 0

    def arrive(self, wagons):
        for wagon in wagons:
            self._standing[wagon.number] = wagon
            self._signatures[wagon.number] = self._west.scan()  # keeps

    def inspect(self):
        return [number for number, wagon in self._standing.items() if wagon.defect]

    def cut_out(self, number):
        wagon = self._standing.pop(number)
        self.shopped += 1
        return wagon.kind

    def depart(self):
        number, _ = self._standing.popitem(last=False)
        signature = self._signatures.pop(number)
        view = self._east.rescan(signature)
        likeness = float((view * signature).sum(dim=0).mean())
        if likeness < 0.9:
            self.doubtful += 1
        self.departed += 1
        return likeness

    def standing(self):
        return len(self._standing)


class Timetable:
    """Inbound trains with wagons that the yard has not seen before."""

    KINDS = ("hopper", "tank", "flat", "box")

    def __init__(self, seed):
        self._random = random.Random(seed)

    def inbound(self):
        return [self._wagon() for _ in range(TRAIN_LENGTH)]

    def _wagon(self):
        number = f"{self._random.randrange(21, 88)} {self._random.randrange(10 ** 9):09d}"
        return Wagon(number, self._random.choice(self.KINDS), self._random.random() < DEFECT_SHARE)


def main():
    tracker = YardTracker(Portal(seed=3), Portal(seed=4))
    timetable = Timetable(seed=1856)
    repairs = dict.fromkeys(Timetable.KINDS, 0)
    likeness = 1.0
    end = time.monotonic() + SECONDS
    next_line = time.monotonic() + 3.0
    while time.monotonic() < end:
        began = time.monotonic()
        tracker.arrive(timetable.inbound())
        for number in tracker.inspect():
            repairs[tracker.cut_out(number)] += 1
        while tracker.standing() > YARD_HOLDS:
            likeness = min(likeness, tracker.depart())
        if began >= next_line:
            print(f"{tracker.standing():3d} standing, {tracker.departed} departed, {tracker.shopped} to the shop "
                  f"(tanks {repairs['tank']}), least likeness {likeness:.3f}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - began)))
    print(f"yard closed: {tracker.departed} departed, {tracker.doubtful} doubtful", flush=True)


if __name__ == "__main__":
    main()
