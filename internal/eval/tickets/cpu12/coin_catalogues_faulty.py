"""Catalogue feed of a coin auction house.

Cataloguers photograph incoming coins, grade them and set an estimate. Each finished entry is written in the form of
Python objects to the wire that feeds the partner houses, which check the length and the check sum of what they get.
Entries of the same ruler refer to one shared description.

ticket: practice
class: host-growth
holder: _pickler
cause: pickler-memo-kept
"""
import os
import pickle
import time
import zlib
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 10
RULERS = ("Hadrian", "Trajan", "Nero", "Otho", "Galba", "Titus", "Domitian", "Nerva")
GRADES = ("fine", "very fine", "extremely fine", "mint state")
SIDE = 440


@dataclass
class Ruler:
    name: str
    legend: str
    reign: tuple


@dataclass
class Entry:
    lot: int
    ruler: Ruler
    grade: str
    grams: float
    estimate: float
    photo: np.ndarray


class Studio:
    """Photographs coins: a relief, a patina, and the light of the lamp."""

    def __init__(self, rng, dies=40):
        self.rng = rng
        self.dies = rng.random((dies, SIDE, SIDE), dtype=np.float32)
        axis = np.linspace(-1.0, 1.0, SIDE, dtype=np.float32)
        self.disc = (axis[:, None] ** 2 + axis[None, :] ** 2) < 0.92

    def shoot(self, die):
        light = float(self.rng.uniform(0.7, 1.0))
        relief = np.where(self.disc, self.dies[die], 0.05) * light
        tint = np.array([230.0, 190.0, 120.0], dtype=np.float32)
        return (relief[..., None] * tint).astype(np.uint8)  # grows


class Cataloguer:
    def __init__(self, rng):
        self.rng = rng
        self.studio = Studio(rng)
        self.rulers = []
        for place, name in enumerate(RULERS):
            self.rulers.append(Ruler(name, f"IMP {name.upper()} AVG", (50 + 9 * place, 58 + 9 * place)))
        self.lot = 0

    def describe(self):
        self.lot += 1
        die = int(self.rng.integers(0, len(self.studio.dies)))
        photo = self.studio.shoot(die)
        step = int(self.rng.integers(0, len(GRADES)))
        grams = float(self.rng.normal(3.4, 0.2))
        estimate = round(60.0 * (step + 1) ** 2 * float(self.rng.lognormal(0.0, 0.3)), 2)
        return Entry(self.lot, self.rulers[die % len(RULERS)], GRADES[step], grams, estimate, photo)


class Wire:
    """The line to the partner houses; it counts and sums what goes over it."""

    def __init__(self):
        self.sent = 0
        self.check = 0

    def write(self, data):
        self.check = zlib.crc32(data, self.check)
        size = memoryview(data).nbytes
        self.sent += size
        return size


class Feed:
    def __init__(self, wire):
        self.wire = wire
        self._pickler = pickle.Pickler(wire, protocol=pickle.HIGHEST_PROTOCOL)
        self.entries = 0
        self.value = 0.0

    def publish(self, entry):
        before = self.wire.sent
        self._pickler.dump(entry)  # keeps
        self.entries += 1
        self.value += entry.estimate
        return self.wire.sent - before


def main():
    rng = np.random.default_rng(83)
    cataloguer = Cataloguer(rng)
    wire = Wire()
    feed = Feed(wire)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    longest = 0
    while time.monotonic() < end:
        began = time.monotonic()
        entry = cataloguer.describe()
        longest = max(longest, feed.publish(entry))
        if time.monotonic() >= report_at:
            print(f"lot {entry.lot}: {entry.grade} {entry.ruler.name}, check sum {wire.check:08x}", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"catalogue closed: {feed.entries} lots worth {feed.value:.0f}, longest entry {longest}", flush=True)


if __name__ == "__main__":
    main()
