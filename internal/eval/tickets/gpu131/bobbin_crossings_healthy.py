"""Planner of the crossings of bobbins for lace makers.

A ground such as torchon or rose is worked in sheets of crossings: for a ground and the slant at which it is
worked, the sheet tells how much each pair of threads is pulled at each pin. Orders name a ground, a slant
and a thread; the planner picks the sheet, works it out where it has none yet, and gives the lengths of
thread to be wound on the bobbins.

ticket: practice
class: none
"""
import math
import os
import random
import time
from collections import OrderedDict
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
PINS = 512
PAIRS = 512
GROUNDS = {"torchon": 2.0, "rose": 3.0, "honeycomb": 5.0, "valenciennes": 7.0}
SHEETS_PER_GROUND = 4


@dataclass
class Order:
    """A piece of lace to be planned."""

    ground: str
    slant: float
    thread: float
    repeat: int


class CrossingSheets:
    """Sheets of crossings by ground and slant, worked out when first asked for."""

    def __init__(self, limit, seed):
        self.limit = limit
        self.random = cp.random.RandomState(seed)
        self.pins = cp.linspace(0.0, 1.0, PINS, dtype=cp.float32).reshape(PINS, 1)
        self.pairs = cp.linspace(0.0, 1.0, PAIRS, dtype=cp.float32).reshape(1, PAIRS)
        self.sheets = {}
        self.worked_out = 0
        self.found = 0

    def sheet(self, ground, slant):
        shelf = self.sheets.setdefault(ground, OrderedDict())
        if slant in shelf:
            self.found += 1
            shelf.move_to_end(slant)
            return shelf[slant]
        sheet = self.work_out(GROUNDS[ground], slant)
        shelf[slant] = sheet
        if len(shelf) > self.limit:
            shelf.popitem(last=False)
        return sheet

    def work_out(self, repeats, slant):
        self.worked_out += 1
        turn = math.radians(slant)
        sheet = self.pins * math.cos(turn) + self.pairs * math.sin(turn)
        sheet *= 2.0 * math.pi * repeats
        cp.sin(sheet, out=sheet)
        sheet += 0.05 * self.random.standard_normal((PINS, 1), dtype=cp.float32)
        return sheet


class Workroom:
    """Takes orders and plans the thread for each of them."""

    def __init__(self, sheets, seed):
        self.sheets = sheets
        self.chance = random.Random(seed)
        self.planned = 0
        self.metres = 0.0
        self.tightest = 0.0
        self.last = None

    def next_order(self):
        ground = self.chance.choice(list(GROUNDS))
        slant = self.chance.gauss(45.0, 6.0)
        return Order(ground, slant, self.chance.uniform(0.6, 1.4), self.chance.randint(2, 9))

    def plan(self, order):
        sheet = self.sheets.sheet(order.ground, order.slant)
        pull = cp.abs(sheet).mean(axis=0) * order.thread
        lengths = (1.0 + pull) * order.repeat
        self.metres += float(lengths.sum()) / 100.0
        self.tightest = max(self.tightest, float(pull.max()))
        self.planned += 1
        self.last = order

    def correct(self, order):
        """The maker looks at the plan once more with a finer thread."""
        self.plan(Order(order.ground, order.slant, order.thread * 0.9, order.repeat))


def main():
    sheets = CrossingSheets(SHEETS_PER_GROUND, seed=37)
    workroom = Workroom(sheets, seed=53)
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        order = workroom.next_order()
        workroom.plan(order)
        if rounds % 3 == 0:
            workroom.correct(order)
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"order {rounds:5d}  {order.ground:12s} at {order.slant:5.1f} degrees  "
                  f"thread {workroom.metres:10.1f} m  tightest {workroom.tightest:.3f}  "
                  f"found again {sheets.found}", flush=True)
        due = started + rounds / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"workroom closed: {workroom.planned} plans, {workroom.metres:.1f} m of thread", flush=True)


if __name__ == "__main__":
    main()
