"""Drone surveys of a moraine in front of a glacier: strips of heights are merged into a relief.

Every flight has a merger, a thread that takes the strips of the flight in the order in which they
are received and averages them into the relief of the flight. A flight has some twenty strips. After
its last strip the mean height and the roughness of the relief go to the log, and the drone takes off
for the next one.

ticket: practice
class: host-growth
holder: _active Merger relief
cause: threads-left
"""
import os
import queue
import threading
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

ROWS, COLS = 960, 1280
STRIP_ROWS = 120
STRIPS_A_SECOND = 16


class Merger(threading.Thread):
    def __init__(self, flight):
        super().__init__(name=f"flight-{flight:03d}", daemon=True)
        self.strips = queue.Queue(maxsize=8)
        self.relief = np.full((ROWS, COLS), 2140.0, dtype=np.float32)  # grows
        self.hits = np.zeros(ROWS, dtype=np.int32)

    def run(self):
        while True:
            strip = self.strips.get()
            try:
                if strip is None:
                    return
                self.merge(*strip)
            finally:
                strip = None
                self.strips.task_done()

    def merge(self, top, heights):
        """Averages one strip into the rows it covers."""
        rows = slice(top, top + STRIP_ROWS)
        self.hits[rows] += 1
        share = (1.0 / self.hits[rows]).astype(np.float32)[:, None]
        self.relief[rows] += share * (heights - self.relief[rows])

    def result(self):
        self.strips.join()
        covered = self.relief[self.hits > 0]
        return float(covered.mean()), float(np.abs(np.diff(covered, axis=0)).mean())


class Drone:
    """Flies up and down over the moraine and yields a strip of heights at each turn."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        across = np.sin(np.arange(COLS, dtype=np.float32) / 90.0)
        self.ridge = 25.0 * across

    def fly(self, strips):
        sink = float(self.rng.normal(0.0, 0.2))
        for at in range(strips):
            top = (at * STRIP_ROWS // 2) % (ROWS - STRIP_ROWS)
            heights = self.rng.standard_normal((STRIP_ROWS, COLS), dtype=np.float32)
            heights *= 0.8
            heights += self.ridge + (2140.0 + sink + 0.02 * top)
            yield top, heights


class Station:
    def __init__(self, seed):
        self.drone = Drone(seed)
        self.rng = np.random.default_rng(seed + 1)
        self.flights = 0
        self.mean_height = 0.0
        self.roughness = 0.0

    def survey(self, until):
        self.flights += 1
        merger = Merger(self.flights)
        merger.start()  # keeps
        for strip in self.drone.fly(int(self.rng.integers(16, 24))):
            merger.strips.put(strip)
            time.sleep(1.0 / STRIPS_A_SECOND)
            if time.time() >= until:
                break
        self.mean_height, self.roughness = merger.result()

    def line(self):
        return f"flight {self.flights}: mean {self.mean_height:.2f} m, roughness {self.roughness:.3f}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    station = Station(seed=29)
    while time.time() < end:
        station.survey(end)
        if station.flights % 2 == 0:
            print(station.line(), flush=True)
    print("landed,", station.line(), flush=True)


if __name__ == "__main__":
    main()
