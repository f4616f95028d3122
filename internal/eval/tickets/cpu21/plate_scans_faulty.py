"""Digitising old photographic star plates for a new star map.

A scanner thread delivers strips of plates, the measuring thread takes them, levels the sky, finds the star images and
puts their count onto the map. Measuring goes in passes, since the map may only be written to a few times a second.

ticket: practice
class: host-growth
holder: _strips
cause: unbounded-queue
"""
import os
import queue
import threading
import time

import numpy as np

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
STRIPS_PER_SECOND = 14
PASSES_PER_SECOND = 6
ROWS = 320
COLUMNS = 512
MAP_CELLS = 64
STRIPS_PER_PASS = 8


class Strip:
    def __init__(self, number, density):
        self.number = number
        self.density = density


class PlateScanner(threading.Thread):
    """Reads one strip after another off the plate table."""

    def __init__(self, strips, stop, seed):
        super().__init__(name="scanner", daemon=True)
        self._strips = strips
        self.stop = stop
        self.rng = np.random.default_rng(seed)
        self.scanned = 0

    def scan(self):
        density = self.rng.random((ROWS, COLUMNS), dtype=np.float32)  # grows
        density *= 0.1
        for _ in range(int(self.rng.integers(20, 60))):
            row = int(self.rng.integers(2, ROWS - 2))
            column = int(self.rng.integers(2, COLUMNS - 2))
            density[row - 1:row + 2, column - 1:column + 2] += 0.4 + 0.5 * float(self.rng.random())
        self.scanned += 1
        return Strip(self.scanned, density)

    def run(self):
        while not self.stop.is_set():
            self._strips.put(self.scan())  # keeps
            time.sleep(1.0 / STRIPS_PER_SECOND)


class StarMap:
    """Counts of star images on a ring of cells along the ecliptic."""

    def __init__(self):
        self.cells = np.zeros(MAP_CELLS, dtype=np.int64)
        self.writes = 0

    def add(self, counts):
        for cell, stars in counts:
            self.cells[cell] += stars
        self.writes += 1


class MeasuringEngine(threading.Thread):
    def __init__(self, strips, star_map, stop):
        super().__init__(name="measuring", daemon=True)
        self._strips = strips
        self.star_map = star_map
        self.stop = stop
        self.measured = 0

    def take(self):
        waiting = [self._strips.get(timeout=1.0)]
        return waiting

    @staticmethod
    def count_stars(density):
        sky = np.median(density[::8, ::8])
        bright = density - sky > 0.3
        edges = bright[1:, 1:] & ~bright[:-1, 1:] & ~bright[1:, :-1]
        return int(edges.sum())

    def run(self):
        while not self.stop.is_set():
            try:
                waiting = self.take()
            except queue.Empty:
                continue
            counts = []
            for strip in waiting:
                counts.append((strip.number % MAP_CELLS, self.count_stars(strip.density)))
                self.measured += 1
            self.star_map.add(counts)
            del waiting, strip
            time.sleep(1.0 / PASSES_PER_SECOND)


class Observatory:
    def __init__(self, seed):
        self.stop = threading.Event()
        self._strips = queue.Queue()
        self.star_map = StarMap()
        self.scanner = PlateScanner(self._strips, self.stop, seed)
        self.engine = MeasuringEngine(self._strips, self.star_map, self.stop)

    def run(self, seconds):
        self.scanner.start()
        self.engine.start()
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < seconds:
            time.sleep(min(2.0, max(0.01, seconds - elapsed)))
            print(f"{time.monotonic() - start:6.1f}s strips measured {self.engine.measured} "
                  f"map writes {self.star_map.writes} stars {int(self.star_map.cells.sum())}", flush=True)
        self.stop.set()
        self.scanner.join(3.0)
        self.engine.join(3.0)


def main():
    observatory = Observatory(seed=1887)
    observatory.run(RUN_SECONDS)
    print(f"plate room closed: {int(observatory.star_map.cells.sum())} stars on the map", flush=True)


if __name__ == "__main__":
    main()
