"""Control room of the inspection pits in a tram depot.

Trams roll over four pits at night. While a tram stands over a pit, a line scanner builds up a picture of its
underframe, strip by strip, and the picture is compared with a reference. Traffic control may recall a tram before
its inspection has come to an end.

ticket: practice
class: none
"""
import os
import random
import time
from collections import Counter

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 6
PITS = 4
STRIPS = 12
STRIP_ROWS, STRIP_COLUMNS = 96, 640


class Inspection:
    """One stay of a tram over a pit."""

    def __init__(self, tram, pit, strips):
        self.tram = tram
        self.pit = pit
        self.strips = strips
        self.position = 0
        self.outcome = None
        self.underframe = torch.zeros(STRIPS, STRIP_ROWS, STRIP_COLUMNS, device=DEVICE)

    def scan(self, scanner):
        take = min(2, self.strips - self.position)
        for _ in range(take):
            self.underframe[self.position] = scanner.strip(self.tram, self.position)
            self.position += 1
        return self.position >= self.strips

    def close(self, outcome):
        self.outcome = outcome


class LineScanner:
    """The scanners of all pits; each tram type has its own reference picture."""

    def __init__(self, types, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        shape = (types, STRIPS, STRIP_ROWS, STRIP_COLUMNS)
        self.reference = torch.rand(shape, device=DEVICE, generator=self.generator)

    def type_of(self, tram):
        return tram % self.reference.shape[0]

    def strip(self, tram, position):
        clean = self.reference[self.type_of(tram), position]
        noise = torch.randn(clean.shape, device=DEVICE, generator=self.generator)
        return (clean + 0.05 * noise).clamp_(0, 1)

    def compare(self, inspection):
        expected = self.reference[self.type_of(inspection.tram)]
        seen = slice(0, inspection.position)
        return (inspection.underframe[seen] - expected[seen]).abs().amax().item()


class ControlRoom:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scanner = LineScanner(types=6, seed=seed)
        self.pits = [None] * PITS
        self._occupied = set()
        self.outcomes = Counter()
        self.worst = 0.0
        self.next_tram = 2001

    def admit(self):
        for pit, inspection in enumerate(self.pits):
            if inspection is None:
                strips = self.random.randint(STRIPS - 4, STRIPS)
                inspection = Inspection(self.next_tram, pit, strips)
                self.pits[pit] = inspection
                self._occupied.add(inspection)
                self.next_tram += 1

    def complete(self, inspection):
        self.worst = max(self.worst, self.scanner.compare(inspection))
        inspection.close("complete")
        self.outcomes[inspection.outcome] += 1
        self._occupied.discard(inspection)
        self.pits[inspection.pit] = None

    def recall(self, inspection):
        inspection.close("recalled")
        self.outcomes[inspection.outcome] += 1
        self._occupied.discard(inspection)
        self.pits[inspection.pit] = None

    def minute(self):
        self.admit()
        for inspection in list(self.pits):
            if inspection.scan(self.scanner):
                self.complete(inspection)
            elif self.random.random() < 0.1:
                self.recall(inspection)

    def status(self):
        open_now = sum(1 for inspection in self._occupied if inspection.outcome is None)
        return (f"open {open_now}  complete {self.outcomes['complete']}  "
                f"recalled {self.outcomes['recalled']}  worst deviation {self.worst:.3f}")


def main():
    room = ControlRoom(seed=31)
    started = time.monotonic()
    minute = 0
    while time.monotonic() - started < SECONDS:
        room.minute()
        if minute % 18 == 0:
            print(f"minute {minute:4d}  {room.status()}", flush=True)
        minute += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    print(f"night shift ends: {room.status()}", flush=True)


if __name__ == "__main__":
    main()
