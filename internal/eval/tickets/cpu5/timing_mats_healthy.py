"""Reader of the timing mats at a marathon's finish.

The antenna under each mat delivers bursts of complex samples. A burst is brought to its carrier,
filtered, sliced into bits, and from the bits the number of the chip in the runner's shoe is read.
In the crowd of the finish many bursts are spoiled, by two chips at once or by a shoe that was not
flat on the mat; for the statistics of the evening these are counted by mat and by kind. The bursts
are simulated: keyed tone, noise, and a second chip now and then.

ticket: practice
class: none
"""
import os
import random
import time
from collections import Counter, deque

import numpy as np

SAMPLES = 49152
RATE = 250_000.0
BITS = 32
BURSTS_A_SECOND = 10
MATS = ("left", "middle", "right", "backup")


class BurstError(Exception):
    def __init__(self, mat, text):
        super().__init__(f"{mat}: {text}")
        self.mat = mat


class TwoChips(BurstError):
    pass


class BadParity(BurstError):
    pass


def checksum(value):
    return (value * 37 + 11) & 0xFF


def antenna_burst(rng, crowd):
    """A chip's number as keyed tone; in a crowd a second one is laid over it or bits are turned."""
    chip = crowd.randrange(1, 1 << 24)
    word = (chip << 8) | checksum(chip)
    fate = crowd.random()
    if fate < 0.15:
        word ^= 1 << crowd.randrange(BITS)
    bits = np.array([(word >> shift) & 1 for shift in reversed(range(BITS))], dtype=np.float32)
    keyed = np.repeat(0.2 + 0.8 * bits, SAMPLES // BITS)
    phase = 2 * np.pi * crowd.uniform(18_000, 22_000) / RATE * np.arange(SAMPLES, dtype=np.float32)
    burst = keyed * np.exp(1j * phase)
    if fate > 0.80:
        burst = burst + 0.7 * np.exp(1j * phase * 1.9)
    return (burst + 0.05 * rng.standard_normal(SAMPLES)).astype(np.complex64)


def find_carrier(mat, burst):
    spectrum = np.fft.fft(burst)
    power = np.abs(spectrum)
    peak = int(power.argmax())
    away = np.concatenate([power[:max(0, peak - 400)], power[peak + 400:]])
    if away.max() > 0.4 * power[peak]:
        raise TwoChips(mat, f"second carrier at {away.max() / power[peak]:.2f} of the first")
    return peak / SAMPLES


def slice_bits(burst, carrier):
    steps = np.arange(SAMPLES)
    envelope = np.abs(burst * np.exp(-2j * np.pi * carrier * steps))
    return envelope.reshape(BITS, -1).mean(axis=1) > 0.6


def read_chip(mat, burst):
    carrier = find_carrier(mat, burst)
    shifted = burst * np.exp(-2j * np.pi * carrier * np.arange(SAMPLES))
    bits = slice_bits(burst, carrier)
    word = int("".join("1" if bit else "0" for bit in bits), 2)
    chip, parity = word >> 8, word & 0xFF
    if checksum(chip) != parity:
        raise BadParity(mat, f"chip {chip} with parity {parity:#x}")
    return chip, float(np.angle(shifted[:512].sum()))


class FinishLine:
    def __init__(self):
        self.chips = deque(maxlen=500)
        self.rejects = Counter()
        self.read = 0

    def take(self, mat, burst):
        try:
            chip, _ = read_chip(mat, burst)
        except BurstError as error:
            self.rejects[error.mat, type(error).__name__] += 1
            return
        self.read += 1
        self.chips.append(chip)

    def summary(self):
        worst = ", ".join(f"{mat} {kind} {count}" for (mat, kind), count in self.rejects.most_common(3))
        return f"{self.read} chips, {sum(self.rejects.values())} spoiled bursts; most: {worst or '-'}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng, crowd = np.random.default_rng(26), random.Random(42)
    line = FinishLine()
    start, count = time.time(), 0
    while time.time() <= end:
        line.take(MATS[count % len(MATS)], antenna_burst(rng, crowd))
        count += 1
        if count % (3 * BURSTS_A_SECOND) == 0:
            print(f"{time.time() - start:5.1f} s: {line.summary()}", flush=True)
        time.sleep(max(0.0, start + count / BURSTS_A_SECOND - time.time()))


if __name__ == "__main__":
    main()
