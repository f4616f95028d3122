"""The tasting tent of a cheese fair: visitors sit down at a counter, try a flight of cheeses and dictate their notes.

A host seats them, carries the samples and takes down every remark; some visitors leave with a purchase and a printed
card, the others just stand up when they have had enough. The counter serves a few dozen of them at a time.

ticket: practice
class: host-growth
holder: _seated
cause: sessions-kept
"""
import os
import random
import time
from collections import Counter

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 10
ARRIVALS = 7
CHEESES = ["cheddar", "comte", "gouda", "munster", "stilton", "brie", "manchego", "taleggio", "gruyere", "feta"]
WORDS = ["nutty", "grassy", "sharp", "buttery", "smoky", "earthy", "salty", "hay", "cellar", "caramel", "lactic",
         "peppery", "floral", "mushroom", "creamy", "crumbly", "chalky", "firm", "runny", "crystalline"]


class Tasting:
    """One visitor at the counter with the cheeses ahead and the notes so far."""

    def __init__(self, badge, flight, appetite):
        self.badge = badge
        self.flight = list(flight)
        self.appetite = appetite
        self.notes = []
        self.marks = Counter()

    def take_down(self, cheese, remark, mark):
        self.notes.append(f"{cheese}: {remark}".encode("utf-8"))  # grows
        self.marks[cheese] = mark

    def favourite(self):
        return max(self.marks, key=self.marks.get)


class Stenographer:
    """Turns what a visitor mumbles into a page of words."""

    def __init__(self, rng):
        self.rng = rng
        self.phrases = [" ".join(rng.choices(WORDS, k=12)) for _ in range(400)]

    def remark(self):
        lines = self.rng.choices(self.phrases, k=280)
        return "; ".join(lines)


class Counterhand:
    """Seats visitors, serves one cheese to each per round and sees them off."""

    def __init__(self, rng):
        self.rng = rng
        self.stenographer = Stenographer(rng)
        self._seated = {}
        self._eating = []
        self.next_badge = 1
        self.votes = Counter()
        self.sold = 0
        self.left = 0

    def seat(self):
        flight = self.rng.sample(CHEESES, k=8)
        tasting = Tasting(self.next_badge, flight, appetite=self.rng.randint(3, 10))
        self.next_badge += 1
        self._seated[tasting.badge] = tasting  # keeps
        self._eating.append(tasting.badge)
        return tasting

    def serve(self):
        """One cheese for each visitor who is still eating."""
        still = []
        for badge in self._eating:
            tasting = self._seated[badge]
            cheese = tasting.flight.pop()
            tasting.take_down(cheese, self.stenographer.remark(), self.rng.randint(1, 20))
            tasting.appetite -= 1
            if not tasting.flight:
                self.sell(tasting)
            elif tasting.appetite <= 0:
                self.see_off(tasting)
            else:
                still.append(badge)
        self._eating = still

    def sell(self, tasting):
        """The visitor went through the whole flight and takes the favourite home."""
        self.votes[tasting.favourite()] += 1
        self.sold += 1
        self.print_card(tasting)
        del self._seated[tasting.badge]

    def see_off(self, tasting):
        """The visitor stands up before the end of the flight."""
        self.votes[tasting.favourite()] += 1
        self.left += 1

    def print_card(self, tasting):
        card = bytearray()
        for note in tasting.notes:
            card += note[:200] + b"\n"
        return bytes(card)


def main():
    rng = random.Random(2291)
    counter = Counterhand(rng)
    began = time.monotonic()
    next_line = 3.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        for _ in range(ARRIVALS):
            counter.seat()
        counter.serve()
        if now >= next_line:
            leader, votes = counter.votes.most_common(1)[0]
            print(f"{now:6.1f} s  eating {len(counter._eating):3d}  sold {counter.sold}  left early {counter.left}"
                  f"  ahead: {leader} with {votes}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    podium = ", ".join(f"{name} {votes}" for name, votes in counter.votes.most_common(3))
    print(f"the tent closes: {podium}", flush=True)


if __name__ == "__main__":
    main()
