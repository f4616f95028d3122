"""Sorting shed of a pearling station.

Divers land crates of oysters through the day, and a single bench opens them.  Each crate comes with a
picture in several bands from which the bench guesses the chance of a pearl.  Oysters that have waited
for too long in the heat are of no use to the bench and are thrown back.

ticket: practice
class: none
"""
import os
import queue
import threading
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
LANDINGS_PER_SECOND = 15
BENCH_S = 0.25
FRESH_S = 8.0
BANDS, SIDE = 6, 112
DIVERS = ("Amira", "Kenji", "Tomas", "Nalu", "Petra")


class Crate:
    """A crate of oysters with its picture."""

    def __init__(self, number, diver, picture):
        self.number = number
        self.diver = diver
        self.picture = picture
        self.landed = time.monotonic()

    def waited(self):
        return time.monotonic() - self.landed


class Shed:
    """Crates between the jetty and the bench."""

    def __init__(self):
        self._crates = queue.Queue()
        self.closing = threading.Event()

    def land(self, crate):
        self._crates.put(crate)

    def fetch(self):
        try:
            return self._crates.get(timeout=0.5)
        except queue.Empty:
            return None


class Divers(threading.Thread):
    """Land crates at a steady pace."""

    def __init__(self, shed, seed):
        super().__init__(name="divers", daemon=True)
        self.shed = shed
        self.rng = np.random.default_rng(seed)
        self.landed = 0

    def picture(self):
        light = self.rng.uniform(0.6, 1.2, (BANDS, 1, 1)).astype(np.float32)
        return light * self.rng.random((BANDS, SIDE, SIDE), dtype=np.float32)

    def run(self):
        while not self.shed.closing.is_set():
            began = time.monotonic()
            self.landed += 1
            diver = DIVERS[int(self.rng.integers(len(DIVERS)))]
            self.shed.land(Crate(self.landed, diver, self.picture()))
            time.sleep(max(0.0, 1.0 / LANDINGS_PER_SECOND - (time.monotonic() - began)))


class Bench(threading.Thread):
    """Opens crates one after the other."""

    def __init__(self, shed, seed):
        super().__init__(name="bench", daemon=True)
        self.shed = shed
        self.weights = np.random.default_rng(seed).normal(0.0, 1.0, BANDS)
        self.free_at = time.monotonic()
        self.opened = 0
        self.thrown_back = 0
        self.pearls = dict.fromkeys(DIVERS, 0.0)

    def clear(self):
        """Wait until the knife is free, then take it for the next crate."""
        pause = self.free_at - time.monotonic()
        if pause > 0.0:
            time.sleep(pause)
        self.free_at = time.monotonic() + BENCH_S

    def chance(self, picture):
        bands = picture.mean(axis=(1, 2)) - 0.45
        return float(1.0 / (1.0 + np.exp(-4.0 * self.weights @ bands)))

    def run(self):
        while not self.shed.closing.is_set():
            crate = self.shed.fetch()
            if crate is None:
                continue
            if crate.waited() > FRESH_S:
                self.thrown_back += 1
                continue
            self.clear()
            self.pearls[crate.diver] += self.chance(crate.picture)
            self.opened += 1


def main():
    shed = Shed()
    divers, bench = Divers(shed, 1868), Bench(shed, 12)
    start = time.monotonic()
    bench.start()
    divers.start()
    told = start
    while (now := time.monotonic()) - start < SECONDS:
        if now - told >= 3.0:
            told = now
            first = max(bench.pearls, key=bench.pearls.get)
            print(f"{now - start:6.1f} s  landed {divers.landed:5d}  opened {bench.opened:5d}  "
                  f"thrown back {bench.thrown_back:5d}  first {first} {bench.pearls[first]:6.1f}", flush=True)
        time.sleep(0.2)
    shed.closing.set()
    divers.join()
    bench.join()
    print(f"shed closed: {divers.landed} crates landed, {bench.opened} opened", flush=True)


if __name__ == "__main__":
    main()
