"""A press shop stamps body panels on four stamp presses and watches the tonnage of each stroke. Strain gauges
on the columns give a curve over the crank angle; a reviewer task compares it with the master curve of the die
and passes the stroke or sends the part to scrap. A stroke that nobody has reviewed within a quarter of an hour
is to be reported to the shift leader, so each stroke is given a recall when it arrives.

ticket: practice
class: none
"""
import asyncio
import os
import time

import numpy as np

PRESSES = ("Schuler 1", "Schuler 2", "Weingarten", "Komatsu")
ANGLES = 16384
COLUMNS = 4
RECALL_AFTER = 900.0
ROUNDS_PER_SECOND = 6
SCRAP_LIMIT = 1.6


class Stroke:
    """One stroke of a press with the tonnage of its columns over the crank angle."""

    def __init__(self, press, number, tonnage):
        self.press = press
        self.number = number
        self.tonnage = tonnage
        self.reviewed = False
        self.recall = None


class Die:
    """Master curve of a die: the tonnage that a good stroke shows."""

    def __init__(self, rng):
        angle = np.linspace(0.0, np.pi, ANGLES, dtype=np.float32)
        share = rng.uniform(0.8, 1.2, size=(COLUMNS, 1)).astype(np.float32)
        self.master = 220.0 * share * np.sin(angle) ** 6
        self.noise = rng.standard_normal((24, COLUMNS, ANGLES), dtype=np.float32)

    def strike(self, rng):
        ripple = self.noise[rng.integers(len(self.noise))]
        return self.master * np.float32(rng.normal(1.0, 0.01)) + ripple


class StrokeDesk:
    """Takes the strokes in, recalls what is left lying and keeps the tally."""

    def __init__(self, loop):
        self._loop = loop
        self.arrivals = asyncio.Queue(maxsize=64)
        self.overdue = 0
        self.passed = 0
        self.scrapped = 0
        self.peak = 0.0

    async def take(self, stroke):
        stroke.recall = self._loop.call_later(RECALL_AFTER, self._report_overdue, stroke)
        await self.arrivals.put(stroke)

    def _report_overdue(self, stroke):
        if not stroke.reviewed:
            self.overdue += 1
            print(f"overdue: {stroke.press} stroke {stroke.number}", flush=True)

    def pass_stroke(self, stroke):
        stroke.reviewed = True
        stroke.recall.cancel()
        self.passed += 1
        self.peak = max(self.peak * 0.999, float(stroke.tonnage.sum(axis=0).max()))

    def scrap(self, stroke):
        stroke.reviewed = True
        stroke.recall.cancel()
        self.scrapped += 1


async def run_press(name, desk, die, rng, deadline):
    number = 0
    while time.monotonic() < deadline:
        number += 1
        await desk.take(Stroke(name, number, die.strike(rng)))
        await asyncio.sleep(1.0 / ROUNDS_PER_SECOND)


async def review(desk, dies):
    while True:
        stroke = await desk.arrivals.get()
        deviation = stroke.tonnage - dies[stroke.press].master
        if float(np.abs(deviation.mean(axis=1)).max()) > SCRAP_LIMIT:
            desk.scrap(stroke)
        else:
            desk.pass_stroke(stroke)


async def report(desk, start):
    while True:
        await asyncio.sleep(2.0)
        print(f"{time.monotonic() - start:6.1f} s  passed {desk.passed}  scrap {desk.scrapped}  "
              f"overdue {desk.overdue}  peak {desk.peak:.0f} t", flush=True)


async def shift(seconds):
    rng = np.random.default_rng(630)
    start = time.monotonic()
    desk = StrokeDesk(asyncio.get_running_loop())
    dies = {name: Die(rng) for name in PRESSES}
    helpers = [asyncio.create_task(review(desk, dies)), asyncio.create_task(report(desk, start))]
    presses = [run_press(name, desk, dies[name], rng, start + seconds) for name in PRESSES]
    await asyncio.gather(*presses)
    for helper in helpers:
        helper.cancel()
    await asyncio.gather(*helpers, return_exceptions=True)
    return desk


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    desk = asyncio.run(shift(seconds))
    print(f"shift over: {desk.passed} strokes passed, {desk.scrapped} scrapped", flush=True)


if __name__ == "__main__":
    main()
