"""The reading room of an archive of letters, with its digitised folios.

Scholars come one by one: each signs in, is given a desk with a view of one letter, turns it up in contrast and leaves
after a short while. Now and then a school class comes in together, looks at one bundle of letters for a couple of
seconds, and is dismissed by the teacher. The desk clerk notes how legible the inks were.

ticket: practice
class: none
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
SCHOLARS = 6
PUPILS = 15
FIRST_CLASS = 3.0
CLASS_EVERY = 12.0
CLASS_STAYS = 2.0
SHEET = 1024


class FolioStore:
    """Scans of letters: brown ink on rag paper."""

    def __init__(self, seed, folios=40):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.scans = rng.integers(120, 256, size=(folios, SHEET, SHEET), dtype=np.uint8)
        for folio in range(folios):
            for line in range(40, SHEET - 40, 32):
                self.scans[folio, line:line + 6, 60:-60] //= 3

    def pick(self):
        return int(self.rng.integers(len(self.scans)))


class DeskSession:
    """One reader with one letter on the screen."""

    def __init__(self, number, scan, arrived):
        self.number = number
        self.arrived = arrived
        self.left = None
        darkest = int(scan.min())
        scale = 255.0 / max(1, 255 - darkest)
        self.view = ((scan.astype(np.float32) - darkest) * scale).astype(np.uint8)

    @property
    def reading(self):
        return self.left is None

    def legibility(self):
        strip = self.view[SHEET // 2: SHEET // 2 + 32]
        return float(strip.std()) / 128.0

    def finish(self, now):
        self.left = now


class ReadingRoom:
    """Signs readers in and out, and walks round the desks."""

    def __init__(self, store):
        self.store = store
        self._at_desk = {}
        self.numbers = 0
        self.visits = 0
        self.legible = 0.0

    def sign_in(self, now, folio=None):
        scan = self.store.scans[self.store.pick() if folio is None else folio]
        self.numbers += 1
        session = DeskSession(self.numbers, scan, now)
        self._at_desk[session.number] = session
        return session

    def sign_out(self, session, now):
        session.finish(now)
        self.visits += 1
        del self._at_desk[session.number]

    def seat_class(self, now):
        bundle = self.store.pick()
        return [self.sign_in(now, (bundle + pupil) % len(self.store.scans)) for pupil in range(PUPILS)]

    def dismiss(self, pupils, now):
        for session in pupils:
            self.sign_out(session, now)

    def walk_round(self):
        seen = [session.legibility() for session in self._at_desk.values() if session.reading]
        if seen:
            self.legible = 0.9 * self.legible + 0.1 * float(np.mean(seen))
        return len(seen)


def main():
    room = ReadingRoom(FolioStore(seed=1790))
    rng = np.random.default_rng(18)
    started = printed = time.monotonic()
    scholars = []
    pupils = []
    seated_at = 0.0
    next_class = FIRST_CLASS
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        now = turn - started
        if len(scholars) >= SCHOLARS or (scholars and rng.random() < 0.3):
            room.sign_out(scholars.pop(0), now)
        if len(scholars) < SCHOLARS and rng.random() < 0.5:
            scholars.append(room.sign_in(now))
        if pupils and now - seated_at >= CLASS_STAYS:
            room.dismiss(pupils, now)
            pupils = []
        if now >= next_class:
            pupils = room.seat_class(now)
            seated_at = now
            next_class += CLASS_EVERY
        readers = room.walk_round()
        if turn - printed >= 3.0:
            printed = turn
            print(f"{readers} reading, {room.visits} visits, legibility {room.legible:.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    print(f"room closes after {room.visits} visits, legibility {room.legible:.3f}", flush=True)


if __name__ == "__main__":
    main()
