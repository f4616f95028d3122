"""Forecast of the level in the pounds of a canal for the lock keepers.

Since midnight a gauge has given a reading each half minute. The forecast lets each reading of the day travel as
a wave to all points of the pound: a table of reading by point is filled with the damped waves and then weighted
with the readings. The keeper's board shows the highest point of the forecast. The clock of the program runs
faster than that of the canal.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import math
import os
import random
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
READINGS_PER_DAY = 2880
FIRST_READING = 1280
POINTS = 16_384
WAVE_SPEED = 3.4
POUND_METRES = 5200.0


class Gauge:
    """Level at the tail of the lock in metres, with the swing of the lockages."""

    def __init__(self, seed=77):
        self.rng = random.Random(seed)

    def read(self, number):
        lockages = 0.04 * math.sin(number / 9.0) + 0.02 * math.sin(number / 2.3)
        return 1.8 + lockages + self.rng.gauss(0.0, 0.004)


class DayBook:
    """The readings of the day so far, on the device."""

    def __init__(self, gauge):
        self.gauge = gauge
        self.readings = torch.zeros(READINGS_PER_DAY, device=DEVICE)
        self.count = 0
        while self.count < FIRST_READING:
            self.enter()

    def enter(self):
        if self.count == READINGS_PER_DAY:
            self.count = FIRST_READING
        self.readings[self.count] = self.gauge.read(self.count)
        self.count += 1

    def so_far(self):
        return self.readings[:self.count]


class WaveForecast:
    """Sums the waves of all readings of the day at the points of the pound."""

    def __init__(self):
        metres = torch.linspace(0.0, POUND_METRES, POINTS, device=DEVICE)
        self.travel = metres / WAVE_SPEED / 30.0
        self.damping = torch.exp(-metres / 2600.0)
        self.ages = torch.arange(READINGS_PER_DAY, 0, -1, device=DEVICE, dtype=torch.float32)

    def response(self, count):
        """The part of each reading that stands at each point now."""
        table = torch.empty(count, POINTS, device=DEVICE)  # grows
        ages = self.ages[-count:]
        decay = torch.exp(-ages / 240.0)
        torch.outer(decay, self.damping, out=table)
        return table

    def levels(self, readings):
        table = self.response(readings.numel())
        mean = readings.mean()
        swing = (readings - mean) @ table
        front = torch.cos(self.travel * 0.1)
        return mean + 0.02 * swing * front


class KeeperBoard:
    def __init__(self, crest=2.1):
        self.crest = crest
        self.warnings = 0
        self.highest = 0.0
        self.at_metre = 0.0

    def show(self, levels):
        value, point = levels.max(dim=0)
        self.highest = value.item()
        self.at_metre = point.item() * POUND_METRES / (POINTS - 1)
        self.warnings += self.highest > self.crest


def clock_of(reading):
    minutes = reading // 2
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@torch.no_grad()
def main():
    book = DayBook(Gauge())
    forecast = WaveForecast()
    board = KeeperBoard()
    started = time.monotonic()
    due = started
    rounds = 0
    while time.monotonic() - started < SECONDS:
        book.enter()
        board.show(forecast.levels(book.so_far()))
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"{clock_of(book.count)} highest {board.highest:.3f} m at {board.at_metre:.0f} m, "
                  f"warnings {board.warnings}", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"board closed at {clock_of(book.count)} after {rounds} forecasts", flush=True)


if __name__ == "__main__":
    main()
