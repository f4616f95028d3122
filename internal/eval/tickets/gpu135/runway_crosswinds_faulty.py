"""Crosswind advice for the tower of a small airfield with four runways.

Every second a new wind report comes in from the masts beside the field. For each arriving aircraft the desk works out a
surface of the side force over distance along the runway and height of the wing, for the category of the aircraft, and
turns it into an advice: land, land with care, or go around. Several arrivals share a report, so surfaces are reused.

ticket: practice
class: app-leak
holder: _surfaces
cause: cache-without-bound
"""
import math
import os
import random
import time
from collections import Counter
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ARRIVALS_PER_SECOND = 20
REPORT_EVERY = 20
GRID = 396


@dataclass(frozen=True)
class Runway:
    ident: str
    heading: float
    length: float
    roughness: float


@dataclass(frozen=True)
class WindReport:
    serial: int
    direction: float
    speed: float
    gust: float


@dataclass(frozen=True)
class Arrival:
    callsign: str
    category: str
    runway: str


RUNWAYS = {
    runway.ident: runway
    for runway in (
        Runway("04", 40.0, 1180.0, 0.03),
        Runway("13", 130.0, 900.0, 0.08),
        Runway("22", 220.0, 1180.0, 0.05),
        Runway("31", 310.0, 900.0, 0.10),
    )
}
LIMITS = {"glider": 12.0, "trainer": 17.0, "turboprop": 26.0}
WING_HEIGHT = {"glider": 1.1, "trainer": 2.3, "turboprop": 3.4}


class WindMast:
    """Draws the wind as a slow walk of direction and speed."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._serial = 0
        self._direction = 250.0
        self._speed = 11.0

    def read(self):
        self._serial += 1
        self._direction = (self._direction + self._random.gauss(0.0, 9.0)) % 360.0
        self._speed = min(24.0, max(2.0, self._speed + self._random.gauss(0.0, 1.2)))
        gust = self._speed * self._random.uniform(1.1, 1.6)
        return WindReport(self._serial, self._direction, self._speed, gust)


class CrosswindDesk:
    def __init__(self, report):
        self.report = report
        self._surfaces = {}
        self._along = torch.linspace(0.0, 1.0, GRID, device=DEVICE).view(-1, 1)
        self._height = torch.linspace(0.2, 12.0, GRID, device=DEVICE).view(1, -1)
        self.computed = 0

    def take_report(self, report):
        self.report = report

    def surface(self, runway, category):
        key = (self.report.serial, runway.ident, category)
        found = self._surfaces.get(key)
        if found is None:
            found = self._work_out(runway, category)
            self._surfaces[key] = found  # keeps
            self.computed += 1
        return found

    def _work_out(self, runway, category):
        angle = math.radians(self.report.direction - runway.heading)
        side = abs(math.sin(angle))
        shear = torch.log1p(self._height / runway.roughness) / math.log1p(10.0 / runway.roughness)
        gusts = self.report.speed + (self.report.gust - self.report.speed) * torch.sin(9.0 * self._along).abs()
        lift = torch.exp(-((self._height - WING_HEIGHT[category]) / 6.0) ** 2)
        return side * gusts * (shear * lift)  # grows

    def advise(self, arrival):
        surface = self.surface(RUNWAYS[arrival.runway], arrival.category)
        touchdown = surface[GRID // 6: GRID // 3]
        worst = touchdown.max().item()
        limit = LIMITS[arrival.category]
        if worst > limit:
            return "go around"
        return "land with care" if worst > 0.7 * limit else "land"


def arrivals(seed):
    draw = random.Random(seed)
    number = 0
    while True:
        number += 1
        yield Arrival(f"AF{number:05d}", draw.choice(list(LIMITS)), draw.choice(list(RUNWAYS)))


def main():
    mast = WindMast(seed=31)
    desk = CrosswindDesk(mast.read())
    advice = Counter()
    started = time.monotonic()
    for count, arrival in enumerate(arrivals(seed=77), start=1):
        advice[desk.advise(arrival)] += 1
        if count % REPORT_EVERY == 0:
            desk.take_report(mast.read())
        if count % (3 * ARRIVALS_PER_SECOND) == 0:
            said = ", ".join(f"{text}: {times}" for text, times in sorted(advice.items()))
            print(f"{arrival.callsign} wind {desk.report.direction:3.0f}/{desk.report.speed:4.1f} {said}", flush=True)
        if time.monotonic() - started > SECONDS:
            break
        time.sleep(max(0.0, started + count / ARRIVALS_PER_SECOND - time.monotonic()))
    print(f"tower closed after {count} arrivals, {desk.computed} surfaces worked out", flush=True)


if __name__ == "__main__":
    main()
