"""The stones of a tide mill must stand closer or wider as the wheel runs faster or slower with the falling head. A
small controller trims the gap of three pairs of stones; a profile of the gap is measured in each step. The
stones write a detailed journal in batches into the day book, and the sluice, which has little to say, writes into it
directly. The day book shows the last lines only.

ticket: practice
class: host-growth
holder: _spool buffer
cause: log-records-kept
"""
import logging
import math
import os
import time
from collections import deque
from logging.handlers import MemoryHandler

import numpy as np

AROUND = 360
ALONG = 48
PAIRS = ("french burr", "peak grit", "cullin")


class DayBook(logging.Handler):
    """The last lines, as the miller reads them."""

    def __init__(self, lines):
        super().__init__()
        self.lines = deque(maxlen=lines)
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record):
        self.lines.append(self.format(record))


class Journals:
    """Sets up the loggers of the mill."""

    def __init__(self, day_book, batch):
        self.sluice = self._logger("mill.sluice")
        self.stones = self._logger("mill.stones")
        self.sluice.addHandler(day_book)
        self._spool = MemoryHandler(batch, flushLevel=logging.CRITICAL)
        self.stones.addHandler(self._spool)

    def _logger(self, name):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        return logger


class Stones:
    def __init__(self, name, rng):
        self.name = name
        self.rng = rng
        self.gap = 0.5
        self.dress = 0.04 * rng.random((AROUND, ALONG))

    def measure(self, speed):
        lift = 0.002 * speed * np.sin(np.linspace(0.0, 2 * np.pi, AROUND))[:, None]
        jitter = self.rng.normal(0.0, 0.01, (AROUND, ALONG))
        return self.gap + self.dress + lift + jitter  # grows

    def trim(self, profile, wanted):
        error = wanted - float(profile.mean())
        self.gap += 0.3 * error
        return error


class Wheel:
    """The tide wheel, driven by a head that falls from high water on."""

    def __init__(self, journal):
        self.journal = journal
        self.minute = 0
        self.speed = 6.0
        self.shut = False

    def turn(self):
        self.minute += 1
        head = 1.8 + 0.9 * math.sin(self.minute / 40.0)
        self.speed += 0.1 * (3.6 * math.sqrt(head) - self.speed)
        shut = head < 1.3
        if shut != self.shut:
            self.shut = shut
            self.journal.info("gate %s at head %.2f m", "lowered" if shut else "raised", head)
        return self.speed


class Mill:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.day_book = DayBook(lines=40)
        self.journals = Journals(self.day_book, batch=36)
        self.wheel = Wheel(self.journals.sluice)
        self.stones = [Stones(name, rng) for name in PAIRS]
        self.flour = 0.0

    def wanted_gap(self, speed):
        return 0.35 + 0.03 * speed

    def step(self):
        speed = self.wheel.turn()
        wanted = self.wanted_gap(speed)
        worst = 0.0
        for pair in self.stones:
            profile = pair.measure(speed)
            error = pair.trim(profile, wanted)
            self.journals.stones.info("%s off by %+.3f mm, profile %s", pair.name, error, profile)  # keeps
            worst = max(worst, abs(error))
            self.flour += 0.2 * speed * math.exp(-20.0 * abs(error))
        return speed, worst


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    mill = Mill(seed=1776)
    started = spoken = time.monotonic()
    while time.monotonic() - started < seconds:
        speed, worst = mill.step()
        if time.monotonic() - spoken > 2.0:
            spoken = time.monotonic()
            print(f"minute {mill.wheel.minute}: {speed:.2f} rpm, worst gap error {worst:.3f} mm, "
                  f"{mill.flour:.0f} kg of flour", flush=True)
        time.sleep(0.06)
    print(f"ground {mill.flour:.0f} kg, {len(mill.day_book.lines)} lines in the day book", flush=True)


if __name__ == "__main__":
    main()
