"""Waves that overtop a flood wall during a rising storm.

Two reaches of the wall, river side and harbour side, are worked through in every step: a sheet of water along the
reach is laid out in cells, the wave train runs over it, and what passes the crest is the overtopping. As the storm
rises, the sheet reaches further up the wall. A strip of the sheet at the gauge is kept for some seconds, so that the
warning can look back at the run-up.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.125
CALM_CELLS = 2752512
RISE_PER_STEP = 3277
SHEET_CELLS = 6291456
STRIP = 327680
LOOK_BACK = 40


class Reach:
    """A length of wall with its crest and how far the sheet starts above the calm line."""

    def __init__(self, name, crest, lead):
        self.name = name
        self.crest = crest
        self.lead = lead
        self.passed = 0.0

    def cells(self, step):
        return min(SHEET_CELLS, CALM_CELLS + self.lead + step * RISE_PER_STEP)

    def lay_sheet(self, step):
        cells = self.cells(step)
        return torch.empty(SHEET_CELLS, device=DEVICE)[:cells]


class WaveTrain:
    """Regular waves with a period and a height that follow the storm."""

    def __init__(self, height, waves):
        self.height = height
        self.waves = waves

    def run_over(self, sheet, step):
        cells = sheet.numel()
        phase = 0.37 * step
        torch.linspace(phase, phase + 6.2832 * self.waves, cells, out=sheet)
        sheet.sin_().mul_(self.height * (1.0 + 0.0004 * step))


class GaugeBook:
    """Strips of the sheet at the gauge, for the look back of the warning."""

    def __init__(self, look_back):
        self._strips = deque(maxlen=look_back)
        self.taken = 0

    def take(self, sheet):
        self._strips.append(sheet[:STRIP].clone())
        self.taken += 1

    def run_up(self):
        if not self._strips:
            return 0.0
        return max(float(strip.max()) for strip in self._strips)


class WallWarning:
    LEVELS = ("green", "yellow", "orange", "red")

    def __init__(self):
        self.level = 0

    def update(self, run_up, overtopping):
        points = (run_up > 1.05) + (run_up > 1.15) + (overtopping > 0.08)
        self.level = max(self.level - 1, int(points))
        return self.LEVELS[self.level]


def storm_step(reaches, train, book, step):
    sheets = [reach.lay_sheet(step) for reach in reaches]
    overtopping = 0.0
    for reach, sheet in zip(reaches, sheets):
        train.run_over(sheet, step)
    book.take(sheets[step % len(sheets)])
    for reach, sheet in zip(reaches, sheets):
        sheet.sub_(reach.crest).clamp_(min=0.0)
        flow = float(sheet.mean())
        reach.passed += flow
        overtopping += flow
    return overtopping


def main():
    torch.set_num_threads(1)
    reaches = [Reach("river side", 0.8, 0), Reach("harbour side", 0.9, 183500)]
    train = WaveTrain(height=1.0, waves=400)
    book = GaugeBook(LOOK_BACK)
    warning = WallWarning()
    start = time.monotonic()
    step = 0
    next_print = 3.0
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        overtopping = storm_step(reaches, train, book, step)
        step += 1
        if now >= next_print:
            run_up = book.run_up()
            print(f"{now:5.1f} s step {step} run-up {run_up:.3f} m overtopping {overtopping:.4f} "
                  f"warning {warning.update(run_up, overtopping)}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, start + step * ROUND - time.monotonic()))
    passed = ", ".join(f"{reach.name} {reach.passed:.2f}" for reach in reaches)
    print(f"storm over after {step} steps: {passed}", flush=True)


if __name__ == "__main__":
    main()
