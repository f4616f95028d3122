"""A job takes in measurements of buoys at sea: each file is read, checked, calibrated and summed up. Files that do not
pass are counted by the reason, and the last hundred are listed for the operator with what the error said.

ticket: practice
class: none
"""

import io
import os
import random
import time
from collections import Counter, deque

import numpy as np

CHANNELS = ("height", "period", "salt", "warmth")


class BadFile(Exception):
    """A file that can't be used."""


def recorded(number, chance):
    """The bytes of a buoy's file, as the radio brings them: now and then a channel is stuck, or lost for a while."""
    rows = int(chance.integers(8000, 24000))
    data = chance.normal(0, 1, (rows, len(CHANNELS))).cumsum(0) * 0.01 + (2.0, 7.0, 35.0, 14.0)
    kind = chance.random()
    if kind < 0.25:
        data[rows // 3:, 2] = data[rows // 3, 2]
    elif kind < 0.4:
        data[rows // 2:rows // 2 + rows // 5] = np.nan
    out = io.BytesIO()
    np.save(out, data)
    return out.getvalue()


def check_gaps(data):
    lost = np.isnan(data).any(1).mean()
    if lost > 0.05:
        raise BadFile(f"{lost:.0%} of the rows are lost")


def check_stuck(data):
    for channel, name in enumerate(CHANNELS):
        still = np.diff(data[:, channel]) == 0
        if still.mean() > 0.3:
            raise BadFile(f"{name} is stuck")


def calibrate(data):
    scale = np.array([1.02, 1.0, 0.98, 1.01])
    return (data - np.array([0.05, 0.1, 0.4, -0.2])) * scale


class Intake:
    def __init__(self):
        self.failures, self.reasons = deque(maxlen=100), Counter()
        self.passed, self.sums = 0, np.zeros(len(CHANNELS))

    def load(self, content):
        data = np.load(io.BytesIO(content))
        check_gaps(data)
        check_stuck(data)
        return calibrate(data)

    def take(self, name, content):
        try:
            data = self.load(content)
        except BadFile as error:
            self.failures.append((name, str(error)))
            self.reasons[str(error).split(" of ")[-1]] += 1
            return
        self.sums += data.mean(0)
        self.passed += 1

    def summary(self):
        means = dict(zip(CHANNELS, (self.sums / max(self.passed, 1)).round(2)))
        return f"{self.passed} passed {means}, failed {dict(self.reasons)}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    chance, intake, number = np.random.default_rng(3), Intake(), 0
    while time.time() < end:
        for _ in range(random.choice((1, 2, 4))):
            number += 1
            intake.take(f"buoy-{number % 40:02d}/{number:06d}.npy", recorded(number, chance))
            if number % 60 == 0:
                print(intake.summary(), flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
