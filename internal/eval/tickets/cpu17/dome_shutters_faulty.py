"""The control room of an observatory asks, before each exposure, how much of the telescope's pupil the dome
shutter cuts off. A small ray model answers for a pointing, a dome azimuth and a filter with a map of the pupil.
Observers ask again for the field they are on, and an answer is good for a quarter of a minute.

ticket: practice
class: host-growth
holder: _answers
cause: cache-without-bound
"""
import math
import os
import random
import time
from typing import NamedTuple

import torch
from torch.nn import functional

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
GOOD_FOR_S = 15.0
SWEEP_EVERY_S = 1.0
REPORT_EVERY_S = 3.0
PUPIL = 288
FILTERS = {"g": 0.48, "r": 0.62, "i": 0.76}


class Pointing(NamedTuple):
    azimuth: float
    altitude: float
    dome: float
    band: str


class Answer(NamedTuple):
    given: float
    pupil: torch.Tensor


class PupilModel:
    """Traces a grid of rays from the primary mirror to the slit and blurs the edge by diffraction."""

    def __init__(self):
        axis = torch.linspace(-1.0, 1.0, PUPIL)
        self._y, self._x = torch.meshgrid(axis, axis, indexing="ij")
        self._mirror = ((self._x ** 2 + self._y ** 2 <= 1.0) & (self._x ** 2 + self._y ** 2 >= 0.09)).float()
        self._kernels = {band: self._blur(width) for band, width in FILTERS.items()}

    @staticmethod
    def _blur(width):
        taps = torch.exp(-(torch.arange(-3, 4).float() / (3.0 * width)) ** 2)
        kernel = torch.outer(taps, taps)
        return (kernel / kernel.sum()).view(1, 1, 7, 7)

    def trace(self, pointing):
        lag = math.radians(pointing.dome - pointing.azimuth)
        across = self._x * math.cos(lag) + math.sin(lag) * 2.0
        top = math.sin(math.radians(pointing.altitude)) + 0.8
        seen = (across.abs() < 0.9) & (self._y < top)
        edge = (seen.float() * self._mirror).view(1, 1, PUPIL, PUPIL)
        return functional.conv2d(edge, self._kernels[pointing.band], padding=3)[0, 0]  # grows


class ShutterDesk:
    """Answers the control room, from what was lately worked out where that is still good."""

    def __init__(self, model):
        self._model = model
        self._answers = {}
        self._next_sweep = time.monotonic() + SWEEP_EVERY_S
        self.asked = 0
        self.repeated = 0

    def ask(self, pointing):
        self.asked += 1
        now = time.time()
        answer = self._answers.get(pointing)
        if answer is not None and now - answer.given < GOOD_FOR_S:
            self.repeated += 1
            return answer.pupil
        pupil = self._model.trace(pointing)
        self._answers[pointing] = Answer(now, pupil)  # keeps
        return pupil

    def sweep(self):
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_EVERY_S
        for pointing in [p for p, answer in self._answers.items() if now - answer.given >= GOOD_FOR_S]:
            del self._answers[pointing]


class Observer:
    """One instrument team: stays on a field for a few exposures while the sky turns."""

    def __init__(self, rng):
        self._rng = rng
        self._slew()

    def _slew(self):
        self._azimuth = self._rng.uniform(0.0, 360.0)
        self._altitude = self._rng.uniform(25.0, 80.0)
        self._dome = self._azimuth + self._rng.uniform(-15.0, 15.0)

    def next_pointing(self):
        if self._rng.random() < 0.1:
            self._slew()
        elif self._rng.random() < 0.8:
            self._azimuth += 0.02
            self._dome += self._rng.uniform(-0.5, 0.5)
        return Pointing(round(self._azimuth, 3), round(self._altitude, 3), round(self._dome, 2),
                        self._rng.choice(list(FILTERS)))


def main():
    rng = random.Random(404)
    desk = ShutterDesk(PupilModel())
    observers = [Observer(rng) for _ in range(3)]
    began = reported = time.monotonic()
    clear = 1.0
    while (now := time.monotonic()) - began < SECONDS:
        for observer in observers:
            pupil = desk.ask(observer.next_pointing())
            clear = 0.95 * clear + 0.05 * float(pupil.mean()) / 0.715
        desk.sweep()
        if now - reported >= REPORT_EVERY_S:
            print(f"{now - began:6.1f} s  {desk.asked} asked  pupil clear {clear:.2f}", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"dawn: {desk.asked} asked, {desk.repeated} of them again", flush=True)


if __name__ == "__main__":
    main()
