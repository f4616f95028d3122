"""A seismometer sends what it feels, bit by bit, and tremors are looked for in the last of it, with cupy (a GPU only).
The record of the day lies in memory set aside at the start, and each bit is put behind what was there before.

ticket: cupy/cupy#8646
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np

RATE, BIT, BEFORE, DAY = 200, 1024, 131_072, 1_048_576
LOOKED_AT, SHORT, LONG = 16_384, 100, 2000


class Seismometer:
    """Ground noise on three axes, and tremors now and then."""

    def __init__(self, seed=2):
        self.luck, self.left, self.strength = np.random.default_rng(seed), 0, 0.0

    def feel(self, count):
        noise = self.luck.normal(0, 1, (3, count + 4))
        felt = sum(noise[:, shift:count + shift] for shift in range(5)) / 2
        if not self.left and self.luck.random() < 0.1:
            self.left, self.strength = int(self.luck.integers(2, 6)), float(self.luck.uniform(3, 12))
        if self.left:
            self.left -= 1
            wave = np.sin(np.arange(count) * self.luck.uniform(0.05, 0.3))
            felt += self.strength * wave * self.luck.normal(0, 1, (3, 1))
        return felt.astype(np.float32)


class Record:
    """All that was felt today, on the device."""

    def __init__(self, felt):
        self.felt, self.end = cp.zeros((3, DAY), cp.float32), felt.shape[1]
        self.felt[:, :self.end] = cp.asarray(felt)

    def add(self, bit):
        if self.end + bit.shape[1] > DAY:
            self.felt[:, :BEFORE] = self.felt[:, self.end - BEFORE:self.end]
            self.end = BEFORE
        self.felt[:, self.end:self.end + bit.shape[1]] = cp.asarray(bit)
        self.end += bit.shape[1]

    def last(self, count):
        return self.felt[:, self.end - count:self.end]

    def length(self):
        return self.end


def running_mean(values, count):
    """Mean of the values before each place, along the last axis."""
    sums = cp.cumsum(values, axis=-1)
    means = sums.copy()
    means[..., count:] -= sums[..., :-count]
    return means / cp.minimum(cp.arange(1, values.shape[-1] + 1, dtype=cp.float32), count)


def tremors(felt):
    """How many times the ground rose above its usual noise, and by how much at most."""
    energy = ((felt - felt.mean(axis=1, keepdims=True)) ** 2).sum(axis=0)
    ratio = running_mean(energy, SHORT) / (running_mean(energy, LONG) + 1e-6)
    above = (ratio > 3.0).astype(cp.int8)
    starts = int((cp.diff(above) > 0).sum())
    return starts, float(ratio[LONG:].max())


def polarisation(felt):
    """How much of the motion goes one way, and which."""
    spread = felt @ felt.T / felt.shape[1]
    parts, ways = np.linalg.eigh(cp.asnumpy(spread))
    return float(parts[-1] / parts.sum()), ways[:, -1]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    seismometer = Seismometer()
    record, bits, found, strongest = Record(seismometer.feel(BEFORE)), 0, 0, 0.0
    while time.time() < end:
        record.add(seismometer.feel(BIT))
        bits += 1
        starts, ratio = tremors(record.last(LOOKED_AT))
        found, strongest = max(found, starts), max(strongest, ratio)
        if bits % 15 == 0:
            share, way = polarisation(record.last(LOOKED_AT))
            print("minutes", round(record.length() / RATE / 60, 1), "tremors at once", found, "strongest",
                  round(strongest, 1), "one way", round(share, 2), np.round(way, 2).tolist(), flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
