"""Watch over diamond wire saws in a granite quarry.

A wire saw hums at a pitch that goes with the speed of the wire, and the beads of each rope add overtones.
A record from the pickup at the guide wheel is compared with templates for this rope at this speed; what they
do not explain is a sign of worn beads or of a wire about to break. The foreman sees the wear of each saw.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
SAMPLES = 9_600
SAMPLE_RATE = 19_200.0
OVERTONES = 8
SPEED_STEP = 3.0
BREAK_LEVEL = 0.6


@dataclass(frozen=True)
class Rope:
    name: str
    beads_per_metre: int
    stiffness: float


@dataclass(frozen=True)
class Reading:
    rope: Rope
    speed: float
    wear: float


ROPES = (
    Rope("soft", 37, 0.0005),
    Rope("medium", 40, 0.0011),
    Rope("hard", 43, 0.0020),
)


class Pickup:
    """Speed of the wire and the sound of the guide wheel."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._noise = cp.random.RandomState(seed)
        self._time = cp.arange(SAMPLES, dtype=cp.float32) / SAMPLE_RATE
        self._wear = [0.1 for _ in ROPES]

    def read(self, place):
        self._wear[place] = min(1.0, self._wear[place] + float(self._rng.exponential(0.002)))
        speed = SPEED_STEP * float(self._rng.uniform(7.5, 11.5))
        return Reading(ROPES[place], speed, self._wear[place])

    def record(self, reading):
        pitch = 2.0 * np.pi * reading.speed * reading.rope.beads_per_metre / 10.0
        sound = cp.sin(self._time * pitch)
        sound += cp.sin(self._time * (2.0 * pitch)) * 0.3
        hiss = self._noise.standard_normal(SAMPLES, dtype=cp.float32)
        return sound + hiss * reading.wear

    def change_rope(self, place):
        self._wear[place] = 0.1


class TemplateBook:
    """Sine and cosine of the overtones of a rope at a speed of the wire."""

    def __init__(self):
        self._time = cp.arange(SAMPLES, dtype=cp.float32) / SAMPLE_RATE
        self._order = cp.arange(1, OVERTONES + 1, dtype=cp.float32)[:, None]
        self._templates = {}

    def look_up(self, rope, speed):
        key = (rope.name, speed)
        if key not in self._templates:
            self._templates[key] = self._draw(rope, speed)
        return self._templates[key]

    def _draw(self, rope, speed):
        pitch = 2.0 * np.pi * speed * rope.beads_per_metre / 10.0
        partials = self._order * (1.0 + self._order ** 2 * rope.stiffness) * pitch
        phase = partials * self._time
        return cp.concatenate([cp.sin(phase), cp.cos(phase)]) * (2.0 / SAMPLES) ** 0.5


class WearMonitor:
    """What the templates leave unexplained, smoothed for each rope."""

    def __init__(self, book):
        self.book = book
        self.level = {rope.name: 0.0 for rope in ROPES}

    def watch(self, reading, sound):
        templates = self.book.look_up(reading.rope, SPEED_STEP * round(reading.speed / SPEED_STEP))
        weights = templates @ sound
        rest = sound - weights @ templates
        unexplained = float(cp.sqrt(cp.mean(rest * rest)))
        name = reading.rope.name
        self.level[name] = 0.95 * self.level[name] + 0.05 * unexplained
        return self.level[name]


def main():
    pickup = Pickup(seed=640)
    monitor = WearMonitor(TemplateBook())
    started = time.monotonic()
    said = started
    rounds = changes = 0
    while time.monotonic() - started < SECONDS:
        place = rounds % len(ROPES)
        reading = pickup.read(place)
        level = monitor.watch(reading, pickup.record(reading))
        if level > BREAK_LEVEL and reading.wear > 0.5:
            pickup.change_rope(place)
            changes += 1
        rounds += 1
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            wear = ", ".join(f"{name} {value:.2f}" for name, value in monitor.level.items())
            print(f"round {rounds}: {wear}, ropes changed {changes}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"shift over: {rounds} records, {changes} ropes changed", flush=True)


if __name__ == "__main__":
    main()
