"""
A nursery keeps seedlings in several glass houses with probes in the trays and infrared cameras over the
benches. A board collects what came in lately, so that an alarm of a probe can be compared with the
pictures of the same bench. The board looks back over twenty-five seconds.

ticket: practice
class: none
"""
import collections
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
LOOK_BACK = 25.0
HOUSES = ("fuchsia", "tomato", "begonia", "cucumber")
BENCHES = 6
PICTURE = (256, 256)
PROBE_TRACE = 16384


@dataclass
class Sighting:
    ident: int
    stamp: float
    kind: str
    house: str
    bench: int
    values: np.ndarray


class AlarmBoard:
    """All sightings by their number, and the order in which they came."""

    def __init__(self):
        self.sightings = {}
        self.order = collections.deque()
        self.latest_picture = {}
        self.next_ident = 0
        self.alarms = 0

    def new(self, stamp, kind, house, bench, values):
        sighting = Sighting(self.next_ident, stamp, kind, house, bench, values)
        self.next_ident += 1
        self.sightings[sighting.ident] = sighting
        return sighting

    def probe(self, stamp, house, bench, trace):
        sighting = self.new(stamp, "probe", house, bench, trace)
        self.order.append((stamp, sighting.ident))
        if float(trace.mean()) > 31.0 and self.confirm(house, bench):
            self.alarms += 1

    def picture(self, stamp, house, bench, image):
        sighting = self.new(stamp, "infrared", house, bench, image)
        self.order.append((stamp, sighting.ident))
        self.latest_picture[house, bench] = sighting.ident

    def confirm(self, house, bench):
        ident = self.latest_picture.get((house, bench))
        sighting = self.sightings.get(ident)
        return sighting is not None and float(np.percentile(sighting.values[::8, ::8], 90)) > 30.0

    def look_back(self, now):
        while self.order and self.order[0][0] < now - LOOK_BACK:
            _, ident = self.order.popleft()
            self.sightings.pop(ident, None)


class Nursery:
    """Simulates the warmth of benches under sun, clouds and vents."""

    def __init__(self, seed=61):
        self.rng = np.random.default_rng(seed)
        self.warmth = self.rng.uniform(22.0, 30.0, size=(len(HOUSES), BENCHES)).astype(np.float32)
        self.leaves = self.rng.random((BENCHES, 512, 1024), dtype=np.float32)

    def weather(self, elapsed):
        sun = 27.0 + 5.0 * np.sin(elapsed / 9.0)
        gusts = self.rng.normal(0.0, 0.3, size=self.warmth.shape).astype(np.float32)
        self.warmth += 0.1 * (np.float32(sun) - self.warmth) + gusts

    def trace(self, house, bench):
        wobble = self.rng.standard_normal(PROBE_TRACE, dtype=np.float32)
        return self.warmth[house, bench] + 0.2 * wobble

    def image(self, house, bench):
        row = int(self.rng.integers(0, 256))
        leaves = self.leaves[bench, row:row + PICTURE[0], row:row + PICTURE[1]]
        return self.warmth[house, bench] + 3.0 * (leaves - np.float32(0.5))


def main():
    nursery = Nursery()
    board = AlarmBoard()
    start = time.monotonic()
    next_line = start + 2.0
    rounds = 0
    while True:
        now = time.monotonic()
        if now - start >= SECONDS:
            break
        nursery.weather(now - start)
        house = rounds % len(HOUSES)
        bench = rounds // len(HOUSES) % BENCHES
        board.picture(now, HOUSES[house], bench, nursery.image(house, bench))
        for other in range(BENCHES // 2):
            place = (bench + other) % BENCHES
            board.probe(now, HOUSES[house], place, nursery.trace(house, place))
        board.look_back(now)
        rounds += 1
        if now >= next_line:
            next_line += 4.0
            warmest = HOUSES[int(nursery.warmth.mean(axis=1).argmax())]
            print(f"{now - start:6.1f} s  round {rounds}  warmest {warmest}  alarms {board.alarms}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"{rounds} rounds, {board.alarms} alarms confirmed", flush=True)


if __name__ == "__main__":
    main()
