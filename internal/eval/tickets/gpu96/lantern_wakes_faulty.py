"""Night ferries on a lake are followed from the shore by the glitter of their lanterns on the wakes. Each
ferry has a hull, a speed and a heading, and these shape the pattern in which the light breaks up on the
water. The observatory correlates every frame of the lake with the pattern of each ferry it expects, in the
frequency domain, and so fixes where the ferry is.

ticket: practice
class: app-leak
holder: _spectra
cause: cache-without-bound
"""
import math
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "45"))
FRAMES_PER_SECOND = 8
LAKE = 384
HULLS = {"cat": 0.7, "double-ender": 1.0, "paddle": 1.4, "steamer": 1.9}


@dataclass
class Ferry:
    name: str
    hull: str
    speed: float
    heading: int

    def steer(self, chance):
        self.speed = min(9.0, max(1.0, self.speed + chance.gauss(0.0, 0.35)))
        self.heading = (self.heading + chance.randrange(-6, 7)) % 360


class WakePatterns:
    """Spectra of lantern light on a wake, by hull, speed and heading."""

    def __init__(self):
        axis = cp.arange(LAKE, dtype=cp.float32) - LAKE / 2
        self.across, self.along = cp.meshgrid(axis, axis)
        self.made = 0
        self._spectra = {}

    def spectrum(self, ferry):
        key = (ferry.hull, round(ferry.speed, 1), ferry.heading)
        if key in self._spectra:
            return self._spectra[key]
        spectrum = self._make(*key)
        self._spectra[key] = spectrum  # keeps
        return spectrum

    def _make(self, hull, speed, heading):
        angle = math.radians(heading)
        ahead = self.across * math.cos(angle) + self.along * math.sin(angle)
        aside = self.along * math.cos(angle) - self.across * math.sin(angle)
        arm = cp.abs(cp.abs(aside) - 0.35 * cp.abs(ahead))
        light = cp.exp(-arm / (2.0 * HULLS[hull])) * cp.cos(ahead / speed) * (ahead < 0)
        self.made += 1
        return cp.conj(cp.fft.rfft2(light.astype(cp.float32))).astype(cp.complex64)  # grows


class Lake:
    """Frames of the water by night, drawn at random over a fixed shimmer."""

    def __init__(self, seed):
        self.random = cp.random.RandomState(seed)
        self.shimmer = self.random.random_sample((48, LAKE, LAKE)).astype(cp.float32)
        self.frames = 0

    def frame(self):
        base = self.shimmer[self.frames % len(self.shimmer)]
        shift = (7 * self.frames) % LAKE
        self.frames += 1
        return cp.roll(base, shift, axis=1) - base.mean()


class Observatory:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.lake = Lake(seed)
        self.patterns = WakePatterns()
        self.ferries = [
            Ferry("Blue Lamp", "cat", 6.0, 40),
            Ferry("Evening Star", "steamer", 4.5, 215),
            Ferry("Marigold", "paddle", 3.0, 120),
            Ferry("Owl", "double-ender", 5.2, 300),
        ]
        self.fixes = deque(maxlen=80)

    def observe(self):
        ferry = self.ferries[self.lake.frames % len(self.ferries)]
        ferry.steer(self.chance)
        seen = cp.fft.rfft2(self.lake.frame())
        match = cp.fft.irfft2(seen * self.patterns.spectrum(ferry), s=(LAKE, LAKE))
        row, column = divmod(int(match.argmax()), LAKE)
        self.fixes.append((ferry.name, row, column))

    def describe(self):
        name, row, column = self.fixes[-1]
        return f"{name} at ({row}, {column})  patterns made {self.patterns.made}"


def main():
    observatory = Observatory(83)
    started = spoken = time.monotonic()
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        observatory.observe()
        if begun - spoken >= 3.0:
            spoken = begun
            print(f"{begun - started:5.1f} s  frame {observatory.lake.frames:4d}  {observatory.describe()}", flush=True)
        time.sleep(max(0.005, 1.0 / FRAMES_PER_SECOND - (time.monotonic() - begun)))
    print(f"first light after {observatory.lake.frames} frames: {observatory.describe()}", flush=True)


if __name__ == "__main__":
    main()
