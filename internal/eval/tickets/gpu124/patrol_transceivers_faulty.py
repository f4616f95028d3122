"""Transceiver search of a ski patrol.

Skiers wear avalanche transceivers. When a signal is heard, the patrol's mast records a spectrogram for it and follows
the signal under its serial number: each round adds echoes, and the bearing gets sharper. A search ends when the skier
is found by the patrol, or when the mountain rescue of the valley takes it over.

ticket: practice
class: app-leak
holder: _signals
cause: entries-left
"""

import os
import random
import time

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
PULSES, BINS = 192, 1024
SEARCHES_A_ROUND = 2
ROUNDS_A_SECOND = 8


class Mast:
    """Receiver with a fixed comb of directions."""

    def __init__(self, seed):
        self.noise = cp.random.RandomState(seed)
        self.window = cp.hanning(BINS).astype(cp.float32)
        self.comb = cp.linspace(0.0, 2.0 * cp.pi, BINS, dtype=cp.float32)

    def listen(self, bearing):
        """One line of echoes from a given bearing."""
        line = cp.cos(self.comb - bearing) + 0.4 * self.noise.standard_normal(BINS, dtype=cp.float32)
        return line * self.window


class Signal:
    """All echoes of one transceiver and what they say so far."""

    def __init__(self, serial, bearing, patience):
        self.serial = serial
        self.bearing = bearing
        self.patience = patience
        self.pulses = 0
        self.echoes = cp.zeros((PULSES, BINS), dtype=cp.float32)  # grows

    def add(self, line):
        self.echoes[self.pulses % PULSES] = line
        self.pulses += 1

    def estimate(self, comb):
        """Bearing by the mean of the echoes."""
        mean = self.echoes[:self.pulses].mean(axis=0)
        east, north = float((mean * cp.sin(comb)).sum()), float((mean * cp.cos(comb)).sum())
        return east, north

    @property
    def done(self):
        return self.pulses >= self.patience


class Register:
    """Signals by serial number, and the serials that are being searched."""

    def __init__(self):
        self._signals = {}
        self.searched = []

    def enter(self, signal):
        self._signals[signal.serial] = signal  # keeps
        self.searched.append(signal.serial)

    def get(self, serial):
        return self._signals[serial]

    def strike(self, serial):
        self.searched.remove(serial)
        return self._signals.pop(serial)


class Patrol:
    """Hears new signals, follows the known ones, and ends searches."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.mast = Mast(seed)
        self.register = Register()
        self.heard = 0
        self.found = 0
        self.valley = []
        self.sharpness = 0.0

    def hear(self):
        self.heard += 1
        serial = f"T{self.heard:06d}"
        self.register.enter(Signal(serial, self.rng.uniform(0.0, 6.28), self.rng.randint(4, 9)))

    def follow(self):
        for serial in list(self.register.searched):
            signal = self.register.get(serial)
            signal.add(self.mast.listen(signal.bearing))
            if signal.done:
                self.end(signal)

    def end(self, signal):
        east, north = signal.estimate(self.mast.comb)
        self.sharpness = (east * east + north * north) ** 0.5 / BINS
        if int(signal.serial[1:]) % 2:
            self.register.strike(signal.serial)
            self.found += 1
        else:
            self.hand_over(signal.serial, east, north)

    def hand_over(self, serial, east, north):
        """Give the bearing to the valley, which goes on with the search."""
        self.valley.append((serial, round(east, 2), round(north, 2)))
        self.register.searched.remove(serial)


def main():
    patrol = Patrol(seed=33)
    started = time.monotonic()
    reported = started
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        for _ in range(SEARCHES_A_ROUND):
            patrol.hear()
        patrol.follow()
        if begun - reported > 3.0:
            reported = begun
            print(f"{patrol.heard} signals, {len(patrol.register.searched)} searched, "
                  f"sharpness {patrol.sharpness:.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    print(f"patrol ends: {patrol.found} found, {len(patrol.valley)} with the valley", flush=True)


if __name__ == "__main__":
    main()
