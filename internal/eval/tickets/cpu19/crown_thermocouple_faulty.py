"""Crown supervision of a regenerative glass furnace.

A thermal camera looks at the crown through a peephole and gives a frame several times a second, while
a handful of thermocouples tell the temperature of the silica blocks.  The supervisor keeps the frames
of the last seconds, follows the mean and the hottest block, and reverses the firing side on schedule.

ticket: practice
class: host-growth
holder: _frames
cause: buffer-without-bound
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
SPAN_S = 7.0
REVERSAL_S = 20.0
ROWS, COLUMNS = 240, 320
COUPLES = 8


@dataclass
class Frame:
    """One picture of the crown with the time at which it was taken."""
    taken: float
    kelvin: np.ndarray
    firing: str


class Crown:
    """The silica crown: a slow field of temperature with a flame on one side."""

    def __init__(self, rng):
        self.rng = rng
        y, x = np.mgrid[0:ROWS, 0:COLUMNS].astype(np.float32)
        left = np.exp(-((x - 70) ** 2 + (y - 120) ** 2) / 9000.0)
        self.flames = {"left": left, "right": left[:, ::-1].copy()}
        self.base = (1820.0 + 15.0 * np.sin(x / 40.0) * np.cos(y / 30.0)).astype(np.float32)
        self.field = self.base.copy()
        self.firing = "left"

    def advance(self):
        goal = self.base + 60.0 * self.flames[self.firing]
        self.field += 0.02 * (goal - self.field)

    def picture(self):
        noise = self.rng.standard_normal(self.field.shape, dtype=np.float32)
        return self.field + 1.5 * noise  # grows

    def couples(self):
        columns = np.linspace(10, COLUMNS - 10, COUPLES).astype(int)
        return self.field[ROWS // 2, columns] + self.rng.normal(0.0, 0.8, COUPLES)

    def reverse(self):
        self.firing = "right" if self.firing == "left" else "left"


class CrownWatch:
    """Pictures of the last SPAN_S seconds and the figures taken from them."""

    def __init__(self, span):
        self.span = span
        self._frames = deque()
        self.alarms = 0

    def add(self, frame):
        self._frames.append(frame)  # keeps
        self._trim(frame.taken)

    def _trim(self, now):
        horizon = now - self.span
        while self._frames[-1].taken < horizon:
            self._frames.popleft()

    def hottest(self):
        newest = self._frames[-1].kelvin
        block = newest.reshape(ROWS // 20, 20, COLUMNS // 20, 20).mean(axis=(1, 3))
        spot = np.unravel_index(int(block.argmax()), block.shape)
        return float(block.max()), spot

    def slope(self):
        """Kelvin per second between two pictures about a second apart."""
        if len(self._frames) < ROUNDS_PER_SECOND:
            return 0.0
        older, newer = self._frames[-ROUNDS_PER_SECOND], self._frames[-1]
        if older.firing != newer.firing:
            return 0.0
        return float((newer.kelvin.mean() - older.kelvin.mean()) / (newer.taken - older.taken))

    def judge(self, limit):
        value, _ = self.hottest()
        if value > limit:
            self.alarms += 1


class FiringSchedule:
    """Says when the burners change sides."""

    def __init__(self, period, start):
        self.period = period
        self.due = start + period

    def is_due(self, now):
        if now < self.due:
            return False
        self.due += self.period
        return True


def main():
    rng = np.random.default_rng(1907)
    start = time.monotonic()
    crown = Crown(rng)
    watch = CrownWatch(SPAN_S)
    schedule = FiringSchedule(REVERSAL_S, start)
    couples, rounds, told = crown.couples(), 0, start
    while (now := time.monotonic()) - start < SECONDS:
        crown.advance()
        if schedule.is_due(now):
            crown.reverse()
        watch.add(Frame(now, crown.picture(), crown.firing))
        couples = 0.9 * couples + 0.1 * crown.couples()
        watch.judge(limit=1895.0)
        rounds += 1
        if now - told >= 3.0:
            told = now
            value, spot = watch.hottest()
            print(f"{now - start:6.1f} s  hottest {value:7.1f} K at {spot[0]}/{spot[1]}  slope {watch.slope():+5.2f}  "
                  f"couples {couples.mean():7.1f} K  firing {crown.firing}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"crown watched for {rounds} pictures, {watch.alarms} alarms", flush=True)


if __name__ == "__main__":
    main()
