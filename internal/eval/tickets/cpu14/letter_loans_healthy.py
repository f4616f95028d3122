"""The loan desk of an archive of letters.

Readers ask for letters from the stacks with a slip that names the folios wanted. A runner fetches the bundle; the
reader either has it at the table for a while and brings it back, or withdraws the slip before the bundle has come.
The desk must know for each open slip where it stands, and for each letter who has it.

ticket: practice
class: none
"""
import os
import random
import time
from collections import Counter, deque

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 20
SLIPS_PER_ROUND = 30
LETTERS = 50_000
TABLES = 400
TOWNS = ("Lisbon", "Tallinn", "Bergen", "Trieste", "Cadiz", "Danzig", "Smyrna", "Antwerp")
HANDS = ("secretary", "italic", "chancery", "round", "court")
WORDS = ("wool", "debt", "harbour", "winter", "sister", "seal", "voyage", "illness", "harvest", "wedding", "ink")


def build_catalogue(rng):
    """Shelf mark to a short description of each letter."""
    catalogue = {}
    for number in range(LETTERS):
        mark = f"L.{number // 500:03d}.{number % 500:03d}"
        subject = " ".join(rng.choices(WORDS, k=6))
        catalogue[mark] = (rng.choice(TOWNS), 1500 + rng.randrange(350), rng.choice(HANDS), subject)
    return catalogue


class LoanDesk:
    """Takes slips, sends the runner, hands bundles over and takes them back."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.catalogue = build_catalogue(self.rng)
        self.marks = list(self.catalogue)
        self._by_number = {}
        self._holder_of = {}
        self.fetching = deque()
        self.tables = deque()
        self.number = 0
        self.outcome = Counter()

    def write_slip(self):
        rng = self.rng
        mark = rng.choice(self.marks)
        town, year, hand, subject = self.catalogue[mark]
        self.number += 1
        folios = [(leaf, f"{mark}/{leaf}{rng.choice('rv')}", year) for leaf in range(1, 13)]
        remark = f"{town} {year}, {hand} hand: {subject}; " + ", ".join(rng.choices(WORDS, k=140))
        return {"number": self.number, "mark": mark, "reader": f"reader {rng.randrange(900):03d}",
                "folios": folios, "remark": remark, "state": "asked"}

    def ask(self):
        slip = self.write_slip()
        self._by_number[slip["number"]] = slip
        self.fetching.append(slip["number"])

    def bundle_arrives(self):
        number = self.fetching.popleft()
        slip = self._by_number[number]
        if self.rng.random() < 0.5:
            self.withdraw(slip)
        elif slip["mark"] in self._holder_of:
            self.refuse(slip)
        else:
            self.hand_over(slip)

    def hand_over(self, slip):
        slip["state"] = "at the table"
        self._holder_of[slip["mark"]] = slip["reader"]
        self.tables.append(slip["number"])

    def withdraw(self, slip):
        slip["state"] = "withdrawn"
        self.outcome["withdrawn"] += 1
        self.close(slip["number"])

    def refuse(self, slip):
        slip["state"] = "refused"
        self.outcome["refused"] += 1
        self.close(slip["number"])

    def bring_back(self):
        number = self.tables.popleft()
        slip = self._by_number[number]
        del self._holder_of[slip["mark"]]
        slip["state"] = "returned"
        self.outcome["returned"] += 1
        self.outcome["leaves"] += len(slip["folios"])
        self.close(number)

    def close(self, number):
        del self._by_number[number]

    def round(self):
        for _ in range(SLIPS_PER_ROUND):
            self.ask()
        while len(self.fetching) > 90:
            self.bundle_arrives()
        while len(self.tables) > TABLES:
            self.bring_back()

    def line(self):
        out = self.outcome
        return (f"slip {self.number}: {out['returned']} returned, {out['withdrawn']} withdrawn, "
                f"{out['refused']} refused, {out['leaves']} leaves read")


def main():
    desk = LoanDesk(seed=1648)
    started = printed = time.monotonic()
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        desk.round()
        if turn - printed >= 3.0:
            printed = turn
            print(desk.line(), flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    print("desk closed; " + desk.line(), flush=True)


if __name__ == "__main__":
    main()
