"""Manifests of the bakery on board a liner.

In each watch the bakery of the ship gets orders from the decks. They are written as a manifest, one line for each
cabin, and the totals of flour are drawn from it. A steward may amend an order until the watch is handed over; for
that the desk holds a small function for each manifest, which rewrites a line and gives the difference in flour.

ticket: practice
class: none
"""
import os
import random
import time

CABINS = 3900
BATCHES_PER_WATCH = 8
PACE = 0.12
BREADS = {"rye": 310, "wheat roll": 80, "flat bread": 140, "milk loaf": 420, "ship's biscuit": 35}


class Order:
    """An order of one deck: a seed for the wishes of its cabins."""

    def __init__(self, deck, number, dice):
        self.deck = deck
        self.number = number
        self.dice = dice

    def wishes(self):
        names = list(BREADS)
        for cabin in range(CABINS):
            yield cabin, self.dice.choice(names), 1 + cabin % 4


def write_line(order, cabin, bread, count):
    grams = BREADS[bread] * count
    return f"order {order.number:07d} deck {order.deck:02d} cabin {cabin:05d} {bread:<15} x{count} {grams:>6} g flour"


def write_manifest(order):
    """The manifest as a list of lines."""
    return [write_line(order, cabin, bread, count) for cabin, bread, count in order.wishes()]


def flour(line):
    return int(line.rsplit(" g flour", 1)[0].rsplit(" ", 1)[1])


def amendment_for(order, manifest):
    """A function that rewrites a line of this manifest and gives the difference in grams."""
    def amend(cabin, bread, count):
        before = flour(manifest[cabin])
        manifest[cabin] = write_line(order, cabin, bread, count)
        return flour(manifest[cabin]) - before
    return amend


class Desk:
    """The desk of the bakery: manifests come in, amendments follow, and the watch ends with a total."""

    def __init__(self, dice):
        self.dice = dice
        self.amendments = []
        self.grams = 0
        self.amended = 0

    def accept(self, order):
        manifest = write_manifest(order)
        self.grams += sum(flour(line) for line in manifest[::20]) * 20
        self.amendments.append(amendment_for(order, manifest))

    def open_amendments(self):
        return self.amendments

    def steward_calls(self):
        amend = self.dice.choice(self.open_amendments())
        self.grams += amend(self.dice.randrange(CABINS), self.dice.choice(list(BREADS)), 2)
        self.amended += 1

    def hand_over(self):
        """Ends the watch: the open manifests are final, the total goes to the store room."""
        total, self.grams = self.grams, 0
        self.amendments.clear()
        return total


def stand_watch(desk, numbers, dice, end):
    """One watch; gives the total of flour in grams."""
    for _ in range(BATCHES_PER_WATCH):
        begun = time.time()
        if begun >= end:
            break
        desk.accept(Order(dice.randrange(1, 14), next(numbers), dice))
        for _ in range(3):
            desk.steward_calls()
        time.sleep(max(0.0, PACE - (time.time() - begun)))
    return desk.hand_over()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    dice = random.Random(71)
    desk = Desk(dice)
    numbers = iter(range(1, 10 ** 7))
    watch = 0
    while time.time() < end:
        watch += 1
        total = stand_watch(desk, numbers, dice, end)
        if watch % 3 == 0:
            print(f"watch {watch} flour {total / 1e6:.2f} t amended lines {desk.amended}", flush=True)
    print(f"in port after {watch} watches", flush=True)


if __name__ == "__main__":
    main()
