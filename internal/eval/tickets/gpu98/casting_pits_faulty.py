"""Cooling of cast bells in the pits of a bell foundry.

A bell stays buried in its pit until it has cooled. The temperature of each casting is followed on a grid through its
wall, and a warden stands by for each pit to judge the grain of the bronze once the pit is opened. A mould that cracks
under the metal is written off, and its pit is filled again.

ticket: practice
class: app-leak
holder: heat
cause: threads-left
"""
import os
import queue
import random
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
DEPTH = 512
AROUND = 1024
POURS_A_SECOND = 8
PITS = 8
CRACK_RISK = 0.4
POUR_TEMPERATURE = 1100.0


@dataclass
class Pit:
    """One casting in the ground, from the pour to the opening."""

    number: int
    heat: torch.Tensor
    cracked: bool
    opened: threading.Event = field(default_factory=threading.Event)


class Ground:
    """Soil around the pits: how fast a wall loses its heat at each place."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        soil = torch.rand(16, DEPTH, AROUND, generator=generator)
        self.soil = (0.05 + 0.1 * soil).to(DEVICE)

    def pour(self, number):
        start = self.soil[number % len(self.soil)]
        return POUR_TEMPERATURE * (1.0 - 0.2 * start)  # grows

    def cool(self, heat, number):
        loss = self.soil[(number * 3) % len(self.soil)]
        heat.sub_(20.0).mul_(1.0 - loss).add_(20.0)


def judge(opened, heat, number, verdicts):
    """The warden of one pit: waits until the pit is opened and judges the grain."""
    opened.wait()
    rough = float(heat.std(dim=1).mean())
    verdicts.put((number, rough))


class Foundry:
    """Fills the pits in turn and opens them when their time has come."""

    def __init__(self, ground, seed):
        self.ground = ground
        self.dice = random.Random(seed)
        self.pits = deque()
        self.verdicts = queue.Queue()
        self.poured = self.judged = self.cracked = 0
        self.roughest = 0.0

    def fill(self):
        self.poured += 1
        pit = Pit(self.poured, self.ground.pour(self.poured), self.dice.random() < CRACK_RISK)
        duty = pit.opened, pit.heat, pit.number, self.verdicts
        warden = threading.Thread(target=judge, args=duty, daemon=True)  # keeps
        warden.start()
        self.pits.append(pit)

    def open_oldest(self):
        pit = self.pits.popleft()
        if pit.cracked:
            self.cracked += 1
            return
        pit.opened.set()

    def work(self):
        self.fill()
        for pit in self.pits:
            self.ground.cool(pit.heat, pit.number)
        if len(self.pits) > PITS:
            self.open_oldest()
        while not self.verdicts.empty():
            _, rough = self.verdicts.get()
            self.judged += 1
            self.roughest = max(self.roughest, rough)


def main():
    torch.set_num_threads(1)
    foundry = Foundry(Ground(seed=70), seed=71)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    while time.monotonic() < end:
        began = time.monotonic()
        foundry.work()
        if time.monotonic() >= report_at:
            print(f"{foundry.poured} poured, {foundry.judged} judged, {foundry.cracked} cracked, "
                  f"roughest grain {foundry.roughest:.2f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / POURS_A_SECOND - (time.monotonic() - began)))
    print(f"fires out: {foundry.judged} castings judged, {foundry.cracked} moulds cracked", flush=True)


if __name__ == "__main__":
    main()
