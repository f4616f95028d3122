"""Hopper barges carry the spoil from a canal dredger to the tip. At the quay an echo sounder looks into each hopper as
the barge comes alongside; from the echo picture the load is estimated, and a barge that rides too low is sent back to
drop a part of it. The sounder stands on its own mast and reports over a queue.SimpleQueue to the quay office, where
the pictures are evaluated in turn.

ticket: practice
class: host-growth
holder: _pictures
cause: unbounded-queue
"""
import os
import queue
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass

import numpy as np

LENGTH = 420
BEAM = 130
BARGES = ("Mudlark", "Heron", "Old Tom", "Perseverance", "Gudgeon", "Wharfinger")


@dataclass
class EchoPicture:
    barge: str
    trip: int
    depths: np.ndarray


class EchoMast(threading.Thread):
    """Sounds the barges as they come alongside, a dozen or so in a second of the speeded-up day."""

    def __init__(self, pictures, seed):
        super().__init__(name="echo-mast", daemon=True)
        self._pictures = pictures
        self._rng = np.random.default_rng(seed)
        self._leave = threading.Event()
        along, across = np.meshgrid(np.linspace(-1, 1, LENGTH), np.linspace(-1, 1, BEAM), indexing="ij")
        self._heap = 1.0 - 0.6 * along ** 2 - 0.4 * across ** 2
        self.trips = Counter()

    def sound(self, barge):
        fill = self._rng.uniform(0.7, 1.25)
        speckle = self._rng.normal(0.0, 0.08, (LENGTH, BEAM))
        self.trips[barge] += 1
        return EchoPicture(barge, self.trips[barge], fill * self._heap + speckle)  # grows

    def run(self):
        turn = 0
        while not self._leave.is_set():
            barge = BARGES[turn % len(BARGES)]
            turn += 1
            self._pictures.put(self.sound(barge))  # keeps
            time.sleep(0.055)

    def finish(self):
        self._leave.set()
        self.join()


class QuayOffice:
    """Estimates the loads and keeps the tally of the tip."""

    LIMIT = 92.0

    def __init__(self, pictures):
        self._pictures = pictures
        self.tally = Counter()
        self.tonnes = 0.0
        self.recent = deque(maxlen=30)
        self.reference = np.full((LENGTH, BEAM), 0.6)

    def smooth(self, depths):
        rows = depths.copy()
        rows[1:-1] = (depths[:-2] + depths[1:-1] + depths[2:]) / 3.0
        return rows

    def estimate(self, picture):
        depths = self.smooth(picture.depths)
        self.reference *= 0.95
        self.reference += 0.05 * depths
        return 130.0 * float(np.clip(depths, 0.0, 1.1).mean())

    def admit(self, picture):
        tonnes = self.estimate(picture)
        self.recent.append(tonnes)
        if tonnes > self.LIMIT:
            self.tally["sent back"] += 1
        else:
            self.tally["tipped"] += 1
            self.tonnes += tonnes
        return picture.barge, picture.trip, tonnes

    def attend(self):
        """One round of the office: evaluate what the mast has reported."""
        latest = None
        try:
            latest = self.admit(self._pictures.get_nowait())
        except queue.Empty:
            pass
        return latest


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    pictures = queue.SimpleQueue()
    mast = EchoMast(pictures, seed=1761)
    office = QuayOffice(pictures)
    mast.start()
    latest = ("none", 0, 0.0)
    started = spoken = time.monotonic()
    while time.monotonic() - started < seconds:
        latest = office.attend() or latest
        if time.monotonic() - spoken > 2.0:
            spoken = time.monotonic()
            barge, trip, tonnes = latest
            mean = sum(office.recent) / max(1, len(office.recent))
            print(f"{barge}, trip {trip}: {tonnes:.1f} t (mean {mean:.1f} t), {dict(office.tally)}", flush=True)
        time.sleep(0.2)
    mast.finish()
    print(f"tip closed with {office.tonnes:.0f} t from {office.tally['tipped']} barges", flush=True)


if __name__ == "__main__":
    main()
