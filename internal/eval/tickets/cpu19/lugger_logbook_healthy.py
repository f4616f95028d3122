"""Logbook of a fleet of pearl luggers.

Every lugger sends a return for each dive: the diver, the depth, the shells and the tender's notes as
a long line of text.  The purser reads the returns, adds up the shells for each lugger and looks for
divers that went too deep too often in the last quarter of a minute.

ticket: practice
class: none
"""
import os
import random
import time
import zlib

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 15
RECENT_S = 14.0
DEEP_FATHOMS = 19
LUGGERS = ("Postboy", "Alma", "Gwendoline", "Redbill", "Mina", "Sedney")
DIVERS_EACH = 4
NOTE_BYTES = 5 * 1024


class DiveReturn:
    """One dive as the tender wrote it down."""
    __slots__ = ("landed", "lugger", "diver", "fathoms", "shells", "notes")

    def __init__(self, landed, lugger, diver, fathoms, shells, notes):
        self.landed = landed
        self.lugger = lugger
        self.diver = diver
        self.fathoms = fathoms
        self.shells = shells
        self.notes = notes


class Tender:
    """Writes the returns of one lugger."""

    def __init__(self, lugger, seed):
        self.lugger = lugger
        self.dice = random.Random(seed)
        self.divers = [f"{lugger[:3].lower()}-{i + 1}" for i in range(DIVERS_EACH)]

    def notes(self, diver, fathoms):
        opening = f"{diver} down at {fathoms} fathoms, line paid out, bottom "
        marks = self.dice.randbytes(NOTE_BYTES).hex()
        return f"{opening}{marks} up and well."

    def write(self, now):
        diver = self.dice.choice(self.divers)
        fathoms = self.dice.randint(7, 22)
        shells = max(0, int(self.dice.gauss(14, 6)))
        return DiveReturn(now, self.lugger, diver, fathoms, shells, self.notes(diver, fathoms))


class Purser:
    """Reads the returns of the fleet."""

    def __init__(self, luggers):
        self._returns = []
        self.shells = dict.fromkeys(luggers, 0)
        self.checksum = 0
        self.read = 0

    def enter(self, dive):
        self._returns.append(dive)
        self.shells[dive.lugger] += dive.shells
        self.checksum = zlib.crc32(dive.notes.encode("ascii"), self.checksum)
        self.read += 1

    def recent(self, now):
        """The dives of the last RECENT_S seconds, oldest first."""
        horizon = now - RECENT_S
        kept = [dive for dive in self._returns if dive.landed >= horizon]
        self._returns = kept
        return kept

    def warnings(self, now):
        deep = {}
        for dive in self.recent(now):
            if dive.fathoms >= DEEP_FATHOMS:
                deep[dive.diver] = deep.get(dive.diver, 0) + 1
        return sorted(deep.items(), key=lambda item: (-item[1], item[0]))[:3]

    def leader(self):
        return max(self.shells.items(), key=lambda item: item[1])


class Fleet:
    """Luggers under way; some lie up for weather from time to time."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.tenders = [Tender(lugger, seed + i) for i, lugger in enumerate(LUGGERS, start=1)]
        self.lying_up = {}

    def returns(self, now):
        for tender in self.tenders:
            if self.lying_up.get(tender.lugger, 0.0) > now:
                continue
            if self.dice.random() < 0.004:
                self.lying_up[tender.lugger] = now + 1.5
                continue
            for _ in range(self.dice.randint(2, 5)):
                yield tender.write(now)


def main():
    fleet = Fleet(1912)
    purser = Purser(LUGGERS)
    start = time.monotonic()
    told, looked, warned = start, start, []
    while (now := time.monotonic()) - start < SECONDS:
        for dive in fleet.returns(now):
            purser.enter(dive)
        if now - looked >= 1.0:
            looked = now
            warned = purser.warnings(now)
        if now - told >= 3.0:
            told = now
            lugger, shells = purser.leader()
            spoken = ", ".join(f"{diver} {count}x" for diver, count in warned) or "nobody"
            print(f"{now - start:6.1f} s  returns {purser.read:6d}  first {lugger} {shells}  "
                  f"deep: {spoken}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"season closed: {purser.read} returns, checksum {purser.checksum:08x}", flush=True)


if __name__ == "__main__":
    main()
