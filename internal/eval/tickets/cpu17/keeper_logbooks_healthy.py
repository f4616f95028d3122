"""The keepers of a flight of five locks log every boat that passes: its name, its draught and the trace of the water
as the chamber filled. The logbook on the desk shows the passages of the last quarter of a minute, from which
the head keeper tells the lower lock how much water the next boats will need.

ticket: practice
class: none
"""
import logging
import os
import time
from collections import deque

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 5
SHOWN_S = 15.0
REPORT_EVERY_S = 3.0
LOCKS = ("Bottom", "Mill", "Chapel", "Wharf", "Top")
TRACE_POINTS, STAFFS = 3600, 14
BOATS = ("Heron", "Marigold", "Perseverance", "Otter", "Clematis", "Old Tom", "Swallow")

log = logging.getLogger("flight")


class Passage:
    """One boat through one chamber, with the levels on the staffs while it filled."""

    def __init__(self, boat, lock, draught, levels):
        self.boat = boat
        self.lock = lock
        self.draught = draught
        self.levels = levels

    def water_used(self):
        return float(self.levels[-1].mean() - self.levels[0].mean()) * 140.0

    def __str__(self):
        return f"{self.boat} by {self.lock}, {self.draught:.2f} m, {self.water_used():.0f} cubic metres"


class DeskLogbook(logging.Handler):
    """The open page of the logbook: what was written within the time shown."""

    def __init__(self, shown_s):
        super().__init__(level=logging.INFO)
        self._shown_s = shown_s
        self._lines = deque()

    def emit(self, record):
        self._lines.append(record)
        horizon = record.created - self._shown_s
        while self._lines and self._lines[0].created < horizon:
            self._lines.popleft()

    def passages(self, count):
        recent = []
        for record in reversed(self._lines):
            if len(recent) == count:
                break
            recent.extend(arg for arg in record.args if isinstance(arg, Passage))
        return recent

    def last_line(self):
        return self._lines[-1].getMessage() if self._lines else "no passage yet"


class Chamber:
    """Fills through the ground paddles; the staffs along the wall swing as the water comes in."""

    def __init__(self, name, rise, seed):
        self.name = name
        self._rise = rise
        self._rng = np.random.default_rng(seed)
        self._course = 1.0 - (1.0 - np.linspace(0.0, 1.0, TRACE_POINTS, dtype=np.float32)) ** 2
        self._swing = np.sin(np.linspace(0.0, 90.0, TRACE_POINTS, dtype=np.float32))

    def lock_through(self, boat):
        draught = float(self._rng.uniform(0.5, 0.9))
        levels = self._rng.standard_normal((TRACE_POINTS, STAFFS), dtype=np.float32)
        levels *= np.float32(0.004)
        levels += (self._rise * self._course)[:, None]
        levels += (self._swing * (1.0 - self._course) * np.float32(0.05 * draught))[:, None]
        return Passage(boat, self.name, draught, levels)


class Flight:
    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._chambers = [Chamber(name, float(self._rng.uniform(1.8, 2.6)), seed + place)
                          for place, name in enumerate(LOCKS, start=1)]
        self.boats = 0

    def work_boats(self):
        for chamber in self._chambers:
            if self._rng.random() < 0.85:
                boat = str(self._rng.choice(BOATS))
                log.info("passage %d: %s", self.boats, chamber.lock_through(boat))
                self.boats += 1


def forecast_demand(logbook):
    passages = logbook.passages(20)
    if not passages:
        return 0.0
    return float(np.mean([passage.water_used() for passage in passages]))


def main():
    log.setLevel(logging.INFO)
    log.propagate = False
    logbook = DeskLogbook(SHOWN_S)
    log.addHandler(logbook)
    flight = Flight(seed=5)
    began = reported = time.monotonic()
    while (now := time.monotonic()) - began < SECONDS:
        flight.work_boats()
        demand = forecast_demand(logbook)
        if now - reported >= REPORT_EVERY_S:
            print(f"{now - began:6.1f} s  next boats need {demand:.0f} m3 each  ({logbook.last_line()})", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    log.removeHandler(logbook)
    print(f"paddles down: {flight.boats} passages worked", flush=True)


if __name__ == "__main__":
    main()
