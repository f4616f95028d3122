"""Watches a volcano's tremor. After each batch of readings from the seismometer it ranks everything that was measured
since the last eruption, and says how far the newest readings lie above what is usual there.

ticket: cupy/cupy#8646
class: none
"""

import os
import random
import time

import numpy as np

try:
    import cupy as xp
    xp.cuda.runtime.getDeviceCount()
except Exception:
    xp = np

CAPACITY, BLOCK = 4_000_000, 1_000_000
EARLIER, BATCH = 200_000, (800, 1_200)


class Record:
    """All readings since the last eruption; places that are not reached yet hold no number."""

    def __init__(self):
        self.readings = np.full(CAPACITY, np.nan)
        self.count = 0
        self.random = np.random.default_rng(7)
        self.add(EARLIER)

    def add(self, size):
        """A quiet rumble that swells and fades with the hours."""
        swell = 1 + 0.4 * np.sin(np.arange(self.count, self.count + size) / 30_000)
        self.readings[self.count:self.count + size] = swell * self.random.standard_normal(size)
        self.count += size

    def on_device(self):
        size = -(-self.count // BLOCK) * BLOCK
        return xp.asarray(self.readings[:size])


def usual(strengths, count):
    """The median, and the spread of the middle half."""
    ranked = xp.sort(strengths)
    low, middle, high = (float(ranked[int(share * count)]) for share in (0.25, 0.5, 0.75))
    return middle, high - low


def alarm(record, newest):
    """How many spreads the newest readings lie above the median."""
    strengths = xp.abs(record.on_device())
    middle, spread = usual(strengths, record.count)
    now = float(strengths[record.count - newest:record.count].mean())
    return (now - middle) / spread


def main():
    random.seed(7)
    record, batches, highest = Record(), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        newest = random.randint(*BATCH)
        record.add(newest)
        height = alarm(record, newest)
        highest = max(highest, height)
        batches += 1
        if batches % 20 == 0:
            print(f"batch {batches}: {record.count} readings, now {height:.2f}, highest {highest:.2f}", flush=True)
        time.sleep(random.uniform(0.15, 0.3))


if __name__ == "__main__":
    main()
