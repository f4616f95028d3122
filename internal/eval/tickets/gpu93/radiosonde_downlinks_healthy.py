"""Downlinks of radiosondes.

A ground station listens to the sondes of all weather balloons in range. Every flight has a lane on the device, so
that the frames of different flights are decoded side by side: mix down, find the phase, cut it into symbols, and
measure how clean they are. A flight is heard for a handful of frames and then drifts out of range.

ticket: practice
class: none
"""
import itertools
import os
import random
import time
from collections import deque

import cupy
import numpy as np

SAMPLES = 1 << 18
SYMBOL = 64
TICKS_A_SECOND = 8
TICKS_PER_LAUNCH = 2
LANES = 4


class Flight:
    """A balloon in range, with the frequency on which its sonde sends."""

    def __init__(self, number, rng):
        self.number = number
        self.frames = rng.randint(3, 5)
        self.carrier = rng.uniform(0.02, 0.11)
        self.noise = rng.uniform(0.05, 0.35)
        self.quality = deque(maxlen=4)

    def antenna(self, generator):
        """The samples of one frame as the receiver delivers them, in 16 bits."""
        bits = generator.integers(0, 2, SAMPLES // SYMBOL, dtype=np.int8)
        steps = np.repeat(2.0 * bits - 1.0, SYMBOL) * 0.012 + self.carrier
        wave = np.sin(np.cumsum(2 * np.pi * steps))
        wave += self.noise * generator.standard_normal(SAMPLES)
        return (wave * 12000).astype(np.int16), bits


class Lanes:
    """Streams on which flights are decoded."""

    def __init__(self):
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(LANES)]

    def of(self, flight):
        return self.streams[flight.number % LANES]


def decode(samples, carrier):
    """The soft symbols of a frame: one number for each symbol, on the host."""
    raw = cupy.asarray(samples)
    signal = raw.astype(cupy.float32) / 12000.0
    clock = cupy.arange(SAMPLES, dtype=cupy.float32) * cupy.float32(2 * np.pi * carrier)
    inphase = signal * cupy.cos(clock)
    quadrature = signal * cupy.sin(clock)
    fold = (SAMPLES // 16, 16)
    smooth_i = inphase.reshape(fold).mean(axis=1)
    smooth_q = quadrature.reshape(fold).mean(axis=1)
    turn = smooth_i[:-1] * smooth_q[1:] - smooth_q[:-1] * smooth_i[1:]
    turn = cupy.concatenate([turn, turn[-1:]])
    return cupy.asnumpy(turn.reshape(-1, SYMBOL // 16).mean(axis=1))


class Station:
    def __init__(self, seed=77):
        self.lanes = Lanes()
        self.rng = random.Random(seed)
        self.generator = np.random.default_rng(seed)
        self.numbers = itertools.count()
        self.in_range = []
        self.gone = 0
        self.qualities = deque(maxlen=50)

    def launch(self):
        self.in_range.append(Flight(next(self.numbers), self.rng))

    def hear(self, flight):
        samples, bits = flight.antenna(self.generator)
        stream = self.lanes.of(flight)
        with stream:
            soft = decode(samples, flight.carrier)
            stream.synchronize()
        agreement = float(np.mean((soft < np.median(soft)) == (bits > 0)))
        flight.quality.append(max(agreement, 1.0 - agreement))
        flight.frames -= 1

    def tick(self):
        for flight in self.in_range:
            self.hear(flight)
        for flight in [flight for flight in self.in_range if flight.frames == 0]:
            self.in_range.remove(flight)
            self.qualities.append(sum(flight.quality) / len(flight.quality))
            self.gone += 1


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    station = Station()
    begin = time.time()
    for tick in itertools.count():
        if time.time() > end:
            break
        if tick % TICKS_PER_LAUNCH == 0:
            station.launch()
        station.tick()
        if tick % 24 == 23:
            clean = sum(station.qualities) / max(1, len(station.qualities))
            print(f"tick {tick + 1}: {len(station.in_range)} in range, {station.gone} gone, {clean:.1%} clean",
                  flush=True)
        time.sleep(max(0.0, begin + (tick + 1) / TICKS_A_SECOND - time.time()))


if __name__ == "__main__":
    main()
