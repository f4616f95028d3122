"""Repair desk of a workshop that looks after organ lofts.

Sextons report faults of their organs with a picture and some lines of text: a ciphering pipe, a swell shutter that
rattles, a torn bellows fold. The desk numbers each report, ranks it and hands it to a bench. Many reports are
called off before a bench comes to them, as the fault went away with the weather.

ticket: practice
class: host-growth
holder: _sheets
cause: entries-left
"""
import os
import random
import time
from collections import deque

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 20
REPORTS_PER_ROUND = 14
PICTURE_BYTES = 22 * 1024
BENCHES = 6
DIVISIONS = ("great", "swell", "choir", "pedal", "echo")
FAULTS = ("cipher", "rattle", "torn fold", "dull speech", "slow action", "wind noise")
WORDS = "shutter tracker pallet slider tongue bellows trunk felt leather spring stop rank wind chest".split()


class RepairSheet:
    """One report: where, what, the picture and the sexton's words."""

    __slots__ = ("number", "division", "fault", "picture", "words", "weight")

    def __init__(self, number, rng):
        self.number = number
        self.division = rng.choice(DIVISIONS)
        self.fault = rng.choice(FAULTS)
        self.picture = bytearray(rng.randbytes(PICTURE_BYTES))  # grows
        self.words = " ".join(rng.choices(WORDS, k=60))
        self.weight = 0

    def assess(self):
        """A dark picture and many words make a fault more pressing."""
        light = sum(self.picture[::512]) / (PICTURE_BYTES / 512)
        self.weight = int(255 - light) + self.words.count("wind") * 4


class Catalogue:
    """Drawings of the organs in care, by division."""

    def __init__(self, rng):
        self._drawings = {name: [rng.randbytes(64 * 1024) for _ in range(110)] for name in DIVISIONS}

    def best_page(self, sheet):
        pages = self._drawings[sheet.division]
        wanted = sheet.picture[0]
        return min(range(0, len(pages), 5), key=lambda place: abs(pages[place][0] - wanted))


class RepairDesk:
    """Numbers the reports and knows every report that is still open."""

    def __init__(self):
        self._sheets = {}
        self._waiting = deque()
        self._next_number = 1
        self.mended = 0
        self.called_off = 0

    def receive(self, rng):
        sheet = RepairSheet(self._next_number, rng)
        self._next_number += 1
        sheet.assess()
        self._sheets[sheet.number] = sheet  # keeps
        self._waiting.append(sheet.number)
        return sheet.number

    def call_off(self, number):
        if number in self._waiting:
            self._waiting.remove(number)
            self.called_off += 1

    def waiting(self):
        return list(self._waiting)

    def take(self):
        return self._sheets[self._waiting.popleft()]

    def close(self, number):
        self._sheets.pop(number)
        self.mended += 1


class Workshop:
    def __init__(self, seed):
        self._rng = random.Random(seed)
        self._catalogue = Catalogue(self._rng)
        self._desk = RepairDesk()
        self.pages_turned = 0
        self.heaviest = 0

    def mend(self, sheet):
        self.pages_turned += self._catalogue.best_page(sheet)
        self.heaviest = max(self.heaviest, sheet.weight)
        self._desk.close(sheet.number)

    def round(self):
        for _ in range(REPORTS_PER_ROUND):
            self._desk.receive(self._rng)
        for number in self._desk.waiting():
            if self._rng.random() < 0.35:
                self._desk.call_off(number)
        for _ in range(min(BENCHES, len(self._desk.waiting()))):
            self.mend(self._desk.take())

    def line(self):
        return (f"mended {self._desk.mended}  called off {self._desk.called_off}  "
                f"waiting {len(self._desk.waiting())}  heaviest {self.heaviest}")


def main():
    workshop = Workshop(seed=1685)
    start = time.monotonic()
    next_print = 2.0
    rounds = 0
    while (now := time.monotonic() - start) < SECONDS:
        workshop.round()
        rounds += 1
        if now >= next_print:
            print(f"{now:6.1f} s  {workshop.line()}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, rounds / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"desk closed: {workshop.line()}", flush=True)


if __name__ == "__main__":
    main()
