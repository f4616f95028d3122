"""Raking the crust of a salt garden.

Salt settles on the floor of shallow pans, thicker where the brine is warm and still. A crew of rakers works over
the garden, one strip after another, and the surveyor takes a map of the crust every hour. At the end of each day
the maps of the day are put together into a report: how much was raked, how even the crust is, and where tomorrow's
work should begin.

ticket: practice
class: none
"""
import math
import os
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HOURS_PER_SECOND = 12
HOURS_PER_DAY = 24
ROWS, COLUMNS = 512, 256
STRIP = 32


@dataclass
class DayReport:
    day: int
    raked: float
    evenness: float
    first_strip: int


class SaltGarden:
    """Thickness of the crust in millimetres, and the warmth that feeds it."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        rough = torch.rand(1, 1, ROWS // 16, COLUMNS // 16, device=DEVICE, generator=self.generator)
        self.warmth = F.interpolate(rough, size=(ROWS, COLUMNS), mode="bilinear", align_corners=False)[0, 0]
        self.crust = torch.zeros(ROWS, COLUMNS, device=DEVICE)
        self.hour = 0

    def settle(self):
        sun = 0.3 + max(0.0, math.sin((self.hour % HOURS_PER_DAY) * math.pi / 12.0))
        gusts = torch.rand(ROWS, COLUMNS, device=DEVICE, generator=self.generator)
        self.crust += 0.2 * sun * self.warmth * (0.5 + gusts)
        smooth = F.avg_pool2d(self.crust[None, None], 3, stride=1, padding=1, count_include_pad=False)[0, 0]
        self.crust.lerp_(smooth, 0.2)
        self.hour += 1

    def rake(self, strip):
        rows = slice(strip * STRIP, (strip + 1) * STRIP)
        taken = 0.8 * float(self.crust[rows].sum())
        self.crust[rows] *= 0.2
        return taken


class RakeCrew:
    """Works through the strips from the one that the report names."""

    def __init__(self, strips):
        self.strips = strips
        self.at = 0

    def next_strip(self):
        strip = self.at
        self.at = (self.at + 1) % self.strips
        return strip


class Surveyor:
    """Takes hourly maps and makes the report of the day from them."""

    def __init__(self):
        self._maps = []
        self._raked = 0.0
        self.days = 0
        self.total = 0.0

    def survey(self, garden, raked):
        relief = garden.crust / garden.crust.mean().clamp(min=1e-3)
        self._maps.append(relief.cpu().numpy())
        self._raked += raked

    def close_day(self):
        day = np.mean(self._maps[-HOURS_PER_DAY:], axis=0)
        by_strip = day.reshape(ROWS // STRIP, -1).mean(axis=1)
        report = DayReport(self.days, self._raked, 1.0 / (1.0 + float(day.std())), int(by_strip.argmax()))
        self._maps.clear()
        self.total += self._raked
        self._raked = 0.0
        self.days += 1
        return report


def work_hour(garden, crew, surveyor):
    garden.settle()
    raked = garden.rake(crew.next_strip())
    surveyor.survey(garden, raked)


def main():
    torch.set_num_threads(1)
    garden = SaltGarden(37)
    crew = RakeCrew(ROWS // STRIP)
    surveyor = Surveyor()
    start = time.monotonic()
    hours = 0
    while time.monotonic() - start < SECONDS:
        work_hour(garden, crew, surveyor)
        hours += 1
        if hours % HOURS_PER_DAY == 0:
            report = surveyor.close_day()
            crew.at = report.first_strip
            if report.day % 2 == 1:
                print(f"day {report.day}: raked {report.raked:.0f}, evenness {report.evenness:.3f}, "
                      f"begin at strip {report.first_strip}", flush=True)
        time.sleep(max(0.0, start + hours / HOURS_PER_SECOND - time.monotonic()))
    print(f"harvest over: {surveyor.days} days, {surveyor.total:.0f} raked", flush=True)


if __name__ == "__main__":
    main()
