"""Ink control of a four-colour offset press.

A camera bar reads the colour strip of every sheet and turns it into optical densities, one profile for each ink.
The controller averages the profiles of the last moments, compares them with the approved sheet, and turns the ink keys
of the four units a little towards the target.

ticket: practice
class: host-growth
holder: _readings
cause: buffer-without-bound
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
SHEETS_PER_SECOND = 10
INKS = ("black", "cyan", "magenta", "yellow")
PIXELS = 48_000
KEYS = 32
TARGETS = np.array([1.75, 1.40, 1.45, 1.10], dtype=np.float32)


@dataclass
class Reading:
    sheet: int
    taken: float
    density: np.ndarray


class PressUnit:
    """The four inking units with their keys; the film of ink follows the keys with some delay."""

    def __init__(self, rng):
        self.rng = rng
        self.keys = np.full((len(INKS), KEYS), 0.5, dtype=np.float32)
        self.film = self.keys.copy()
        self.paper = rng.normal(0.0, 0.01, (64, PIXELS)).astype(np.float32)

    def run_sheet(self):
        self.film += 0.2 * (self.keys - self.film)
        self.film += self.rng.normal(0.0, 0.004, self.film.shape).astype(np.float32)

    def strip(self):
        spread = np.repeat(self.film, PIXELS // KEYS, axis=1)
        grain = self.paper[self.rng.integers(0, len(self.paper), len(INKS))]
        return np.clip(10.0 ** -(2.4 * spread + grain), 1e-4, 1.0)


class DensityHistory:
    """Profiles of the last sheets, from which the controller takes its average."""

    def __init__(self, span_ms):
        self.span_ms = span_ms
        self._readings = deque()

    def add(self, reading):
        self._readings.append(reading)  # keeps
        while reading.taken - self._readings[0].taken > self.span_ms:
            self._readings.popleft()

    def average(self, sheets):
        count = min(sheets, len(self._readings))
        total = np.zeros((len(INKS), PIXELS), dtype=np.float32)
        for back in range(1, count + 1):
            total += self._readings[-back].density
        return total / max(1, count)

    def pace(self):
        first = max(0, len(self._readings) - 10)
        spell = self._readings[-1].taken - self._readings[first].taken
        return (len(self._readings) - 1 - first) / spell if spell > 0 else 0.0


class InkController:
    def __init__(self, unit, history, gain=0.04):
        self.unit = unit
        self.history = history
        self.gain = gain
        self.error = np.zeros((len(INKS), KEYS), dtype=np.float32)

    def measure(self, sheet):
        strip = self.unit.strip()
        density = -np.log10(strip, dtype=np.float32)  # grows
        self.history.add(Reading(sheet, time.monotonic(), density))

    def adjust(self):
        profile = self.history.average(6)
        zones = profile.reshape(len(INKS), KEYS, -1).mean(axis=2)
        self.error = TARGETS[:, None] - zones
        self.unit.keys = np.clip(self.unit.keys + self.gain * self.error, 0.0, 1.0)

    def worst(self):
        ink, zone = np.unravel_index(np.abs(self.error).argmax(), self.error.shape)
        return INKS[ink], int(zone), float(self.error[ink, zone])


def main():
    rng = np.random.default_rng(23)
    unit = PressUnit(rng)
    history = DensityHistory(span_ms=2500)
    controller = InkController(unit, history)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    sheet = 0
    while time.monotonic() < end:
        began = time.monotonic()
        sheet += 1
        unit.run_sheet()
        controller.measure(sheet)
        if sheet % 3 == 0:
            controller.adjust()
        if time.monotonic() >= report_at:
            ink, zone, error = controller.worst()
            pace = history.pace()
            print(f"sheet {sheet} at {pace:.1f}/s: worst key {ink} {zone}, off by {error:+.3f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / SHEETS_PER_SECOND - (time.monotonic() - began)))
    print(f"run finished with {sheet} sheets, mean error {np.abs(controller.error).mean():.4f}", flush=True)


if __name__ == "__main__":
    main()
