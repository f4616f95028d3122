"""Filament gauges of a silk mill.

Optical gauges watch the thickness of raw silk as it runs onto the winding frames. The latest frames of each gauge
are compared with each other: a slow change points to a worn guide, a sudden one to a slub or a thin place, for which
the winder has to stop the swift and tie a knot.

    ticket: practice
    class: none
"""
import os
import time
from collections import defaultdict, deque
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 4
GAUGES = ("north-1", "north-2", "north-3", "south-1", "south-2", "south-3")
POINTS = 65536
DEPTH = 10
SLUB = 4.2


@dataclass
class Verdict:
    gauge: str
    drift: float
    slubs: int

    @property
    def stop(self):
        return self.slubs > 6 or abs(self.drift) > 0.5


class OpticalGauge:
    """Gives one frame of thickness, in micrometres, each time it is read."""

    def __init__(self, name, seed):
        self.name = name
        self.rng = cp.random.default_rng(seed)
        self.wear = 0.0
        self.gain = 1.0 + 0.01 * (seed % 5)

    def read(self):
        noise = self.rng.standard_normal(POINTS, dtype=cp.float32)
        self.wear += 0.002
        frame = noise * cp.float32(self.gain) + cp.float32(31.0 + self.wear)
        return frame

    def replace_guide(self):
        self.wear = 0.0


class FrameStore:
    """The latest frames of each gauge, oldest first."""

    def __init__(self, depth):
        self.depth = depth
        self._recent = defaultdict(deque)

    def add(self, gauge, frame):
        self._recent[gauge].append(frame)
        while len(self._recent[gauge]) > self.depth:
            self._recent[gauge].popleft()

    def newest(self, gauge):
        return self._recent[gauge][-1]

    def earlier(self, gauge):
        frames = self._recent[gauge]
        return frames[max(0, len(frames) - self.depth)]


class Inspector:
    def __init__(self, store):
        self.store = store

    def judge(self, gauge):
        newest = self.store.newest(gauge)
        middle = newest.mean()
        drift = middle - self.store.earlier(gauge).mean()
        slubs = cp.count_nonzero(cp.abs(newest - middle) > SLUB)
        return Verdict(gauge, float(drift), int(slubs))


class WindingRoom:
    def __init__(self):
        self.gauges = [OpticalGauge(name, seed=300 + index) for index, name in enumerate(GAUGES)]
        self.store = FrameStore(DEPTH)
        self.inspector = Inspector(self.store)
        self.knots = 0
        self.guides = 0

    def round(self):
        verdicts = []
        for gauge in self.gauges:
            self.store.add(gauge.name, gauge.read())
            verdict = self.inspector.judge(gauge.name)
            if verdict.stop:
                self.knots += 1
            if gauge.wear > 0.4:
                gauge.replace_guide()
                self.guides += 1
            verdicts.append(verdict)
        return verdicts


def main():
    room = WindingRoom()
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        verdicts = room.round()
        rounds += 1
        if rounds % 12 == 0:
            worst = max(verdicts, key=lambda verdict: verdict.slubs)
            print(f"round {rounds}: most slubs at {worst.gauge} ({worst.slubs}), drift {worst.drift:+.4f}, "
                  f"{room.knots} knots", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"frames wound off: {rounds} rounds, {room.knots} knots, {room.guides} guides replaced", flush=True)


if __name__ == "__main__":
    main()
