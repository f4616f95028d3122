"""The toll plazas of a motorway get reports of how fast and how close the cars drive. A report is made of histograms
and percentiles on the device. To tell which reports need much memory, each one has a memory pool of its own, and the
ledger names the hungriest.

ticket: practice
class: none
"""

import os
import random
import time
from contextlib import contextmanager

import cupy as cp
import numpy as np

PLAZAS = "Ashford", "Birkenau", "Corvara", "Dunmore"


class Ledger:
    """The device memory that the reports needed."""

    def __init__(self):
        self.largest = "-", 0

    @contextmanager
    def account(self, report):
        pool = cp.cuda.MemoryPool()
        with cp.cuda.using_allocator(pool.malloc):
            yield
        if pool.total_bytes() > self.largest[1]:
            self.largest = report, pool.total_bytes()
        pool.free_all_blocks()

    def hungriest(self):
        return self.largest


def passages(rng):
    """Speeds and times of the cars that went through, in the order of the lanes."""
    cars = int(rng.integers(200_000, 600_000))
    speeds = 30 + 4 * rng.standard_normal(cars, dtype=np.float32)
    times = 86_400 * rng.random(cars, dtype=np.float32)
    return speeds, times


def report(speeds, times):
    """Histogram of the speeds, percentiles of them, and the share of cars that drive too close."""
    speeds = cp.asarray(speeds)
    times = cp.asarray(times)
    counts, _ = cp.histogram(speeds, bins=60, range=(0.0, 60.0))
    fast = cp.percentile(speeds, cp.asarray([50.0, 85.0, 95.0]))
    order = cp.argsort(times)
    gaps = cp.diff(times[order]) * speeds[order][1:]
    close = (gaps < 2.0).mean()
    return cp.asnumpy(counts), cp.asnumpy(fast), float(close)


def main():
    rng, ledger, reports = np.random.default_rng(8), Ledger(), 0
    speeds_seen = np.zeros(60, dtype=np.int64)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        plaza = random.choice(PLAZAS)
        with ledger.account(f"{plaza} {reports}"):
            counts, fast, close = report(*passages(rng))
        speeds_seen += counts
        reports += 1
        if reports % 10 == 0:
            name, size = ledger.hungriest()
            print(f"{reports} reports, {speeds_seen.sum()} cars; {plaza}: 85 % below {fast[1]:.1f} m/s, "
                  f"{close:.1%} too close; hungriest: {name}, {size / 2**20:.1f} MiB", flush=True)
        time.sleep(random.uniform(0.3, 0.7))


if __name__ == "__main__":
    main()
