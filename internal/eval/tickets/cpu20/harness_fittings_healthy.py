"""Fitting service of a maker of sled dog harnesses.

A kennel opens a fitting for a dog with a body scan; while the dog pulls on the treadmill, strain readings come in
and the service shifts the straps on the scan. A kennel ends its fitting when the harness sits well, but quite often
the dog has had enough and nothing more is heard, so fittings that stay idle for five seconds are ended by the
service.

ticket: practice
class: none
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
RINGS, SPOKES = 220, 256
STRAPS = 8
IDLE_SECONDS = 5.0
BOARD_SECONDS = 1.0


class Fitting:
    """The work on one dog: its scan as rings of points, the straps and the strain on them."""

    def __init__(self, number, shape, now):
        self.number = number
        self.scan = shape * np.float32(1.0 + 0.02 * (number % 11))
        self.straps = np.linspace(20, RINGS - 20, STRAPS)
        self.strain = np.ones(STRAPS)
        self.touched = now

    def take_reading(self, strain):
        self.strain = 0.7 * self.strain + 0.3 * strain
        self.straps += 2.0 * (self.strain - self.strain.mean())
        np.clip(self.straps, 0, RINGS - 1, out=self.straps)

    def girth(self):
        rings = self.scan[self.straps.astype(int)]
        return float(np.linalg.norm(rings, axis=2).mean())

    def tightest(self):
        return float(self.strain.max())


class FittingService:
    """All fittings under way, by number."""

    def __init__(self):
        self._fittings = {}
        self._next_number = 1
        self.ended = 0

    def open(self, shape, now):
        fitting = Fitting(self._next_number, shape, now)
        self._fittings[fitting.number] = fitting
        self._next_number += 1
        return fitting.number

    def find(self, number, now):
        fitting = self._fittings[number]
        fitting.touched = now
        return fitting

    def reading(self, number, strain, now):
        self.find(number, now).take_reading(strain)

    def end(self, number):
        del self._fittings[number]
        self.ended += 1

    def end_idle(self, now):
        idle = [number for number, fitting in self._fittings.items() if now - fitting.touched > IDLE_SECONDS]
        for number in idle:
            self.end(number)

    def board(self, now):
        """The tightest strap of any fitting and the mean girth, for the wall of the workshop."""
        tightest, girths = 0.0, 0.0
        for number in self._fittings:
            fitting = self._fittings[number]
            tightest = max(tightest, fitting.tightest())
            girths += fitting.girth()
        return tightest, girths / max(1, len(self._fittings))


class Kennels:
    """The customers: they open fittings, send readings and end them or walk off."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._shapes = self._rng.random((60, RINGS, SPOKES, 3), dtype=np.float32)
        self._busy = {}

    def act(self, service, now):
        shape = self._shapes[self._rng.integers(len(self._shapes))]
        self._busy[service.open(shape, now)] = int(self._rng.integers(3, 9))
        for number, left in list(self._busy.items()):
            if left > 0:
                service.reading(number, self._rng.gamma(4.0, 0.25, size=STRAPS), now)
                self._busy[number] = left - 1
                continue
            del self._busy[number]
            if self._rng.random() < 0.3:
                service.end(number)


def main():
    service = FittingService()
    kennels = Kennels(seed=77)
    start = time.monotonic()
    next_board, next_print, rounds = BOARD_SECONDS, 2.0, 0
    tightest, girth = 0.0, 0.0
    while (now := time.monotonic() - start) < SECONDS:
        kennels.act(service, now)
        service.end_idle(now)
        rounds += 1
        if now >= next_board:
            tightest, girth = service.board(now)
            next_board += BOARD_SECONDS
        if now >= next_print:
            print(f"{now:6.1f} s  opened {rounds}  ended {service.ended}  tightest strap {tightest:.2f}  "
                  f"mean girth {girth:.3f}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, rounds / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"workshop closed: {rounds} fittings opened, {service.ended} ended", flush=True)


if __name__ == "__main__":
    main()
