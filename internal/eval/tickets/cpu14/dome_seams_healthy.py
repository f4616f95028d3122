"""Alignment bench of a planetarium whose dome is lit by six overlapping video projectors.

Where two neighbours meet, a seam must be blended so that the audience sees one even sky. The bench sweeps over the
seams again and again, photographs each with a test pattern, measures how far the brightness along it departs from
flat, and nudges the blend of the two projectors. At the end it names the sections that need a technician on a ladder.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
PROJECTORS = 6
HEIGHT = 240
WIDTH = 320
SAMPLES = 4800
ROUNDS_PER_SECOND = 8
LADDER_LIST = 12


@dataclass
class SeamReport:
    """What one photograph says about one seam."""

    seam: int
    sweep: int
    departure: float
    profile: np.ndarray

    def worst_section(self, sections=16):
        parts = np.abs(self.profile).reshape(sections, -1).mean(axis=1)
        return int(parts.argmax())


class DomeCamera:
    """A fisheye camera under the dome; it has a fixed pattern of vignetting for each seam."""

    def __init__(self, rng):
        self.rng = rng
        self.vignettes = rng.normal(1.0, 0.02, size=(PROJECTORS, 32, HEIGHT, WIDTH)).astype(np.float32)

    def photograph(self, seam, blend):
        exposure = int(self.rng.integers(0, 32))
        across = np.linspace(-1.0, 1.0, WIDTH)
        left = 1.0 / (1.0 + np.exp((across - blend[0]) * 6.0))
        right = 1.0 / (1.0 + np.exp((blend[1] - across) * 6.0))
        light = (left + right)[None, :] * self.vignettes[seam, exposure]
        return light + self.rng.normal(0.0, 0.01, size=light.shape)


class SeamBench:
    """Photographs seams, measures them and corrects the blends."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.camera = DomeCamera(self.rng)
        self.blends = self.rng.normal(0.0, 0.15, size=(PROJECTORS, 2))
        self.height_axis = np.linspace(0.0, 1.0, SAMPLES)
        self.sweep = 0
        self._reports = []

    def measure(self, seam):
        picture = self.camera.photograph(seam, self.blends[seam])
        middle = picture[:, WIDTH // 4: 3 * WIDTH // 4].mean(axis=1)
        rows = np.linspace(0.0, 1.0, HEIGHT)
        profile = np.interp(self.height_axis, rows, middle - 1.0)
        departure = float(np.sqrt(np.mean(profile * profile)))
        return SeamReport(seam, self.sweep, departure, profile)

    def correct(self, report):
        push = float(np.clip(report.profile.mean(), -0.05, 0.05))
        self.blends[report.seam, 0] -= push * 0.5
        self.blends[report.seam, 1] += push * 0.5
        self.blends[report.seam] += self.rng.normal(0.0, 0.004, size=2)

    def step(self, number):
        seam = number % PROJECTORS
        if seam == 0:
            self.sweep += 1
        report = self.measure(seam)
        self.correct(report)
        self._reports.append(report)
        self._reports.sort(key=lambda entry: entry.departure, reverse=True)
        del self._reports[LADDER_LIST:]
        return report

    def ladder_list(self):
        """The worst photographs of the session, worst first."""
        ranked = sorted(self._reports, key=lambda entry: entry.departure, reverse=True)
        return [(entry.seam, entry.worst_section(), entry.departure) for entry in ranked[:LADDER_LIST]]


def main():
    bench = SeamBench(seed=611)
    started = time.monotonic()
    printed = started
    number = 0
    recent = np.zeros(PROJECTORS)
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        report = bench.step(number)
        recent[report.seam] = report.departure
        number += 1
        if turn - printed >= 3.0:
            printed = turn
            print(f"sweep {bench.sweep}: mean departure {recent.mean():.4f}, worst seam {int(recent.argmax())}",
                  flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    for seam, section, departure in bench.ladder_list()[:3]:
        print(f"ladder: seam {seam}, section {section}, departure {departure:.4f}")
    print(f"bench closed after {number} photographs", flush=True)


if __name__ == "__main__":
    main()
