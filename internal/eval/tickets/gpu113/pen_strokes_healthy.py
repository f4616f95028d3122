"""Test bench that writes with fountain pens.

A robot arm draws loops and letters with a pen while the bench measures the pressure and the tilt of the nib over each
stroke. From the last strokes the bench estimates how steadily the ink flows and corrects the angle of the arm. Now
and then, when the arm dips the pen, the record is cut back to the strokes that the estimate still needs.

ticket: practice
class: none
"""
import math
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
DIP_EVERY = 12.0
NEEDED = 24
COMPARED = 6
SAMPLES = 65536

torch.set_num_threads(1)


class InkReservoir:
    """Ink in the converter and the wet film in the feed, as a grid."""

    def __init__(self, generator, cells=2048):
        self.film = torch.rand(cells, cells, generator=generator, device=DEVICE)
        self.level = 1.0

    def draw(self, amount):
        row = int(self.level * 1000) % (self.film.shape[0] - 8)
        self.film[row : row + 8].mul_(1.0 - amount).add_(0.5 * amount)
        self.level = max(0.05, self.level - 0.003 * amount)

    def fill(self):
        self.level = 1.0


class RobotArm:
    """Leads the pen along a stroke and returns what the sensors saw."""

    def __init__(self, generator):
        self.generator = generator
        self.angle = 52.0
        self.clock = torch.linspace(0.0, 4.0 * math.pi, SAMPLES, device=DEVICE)

    def stroke(self, wetness):
        shake = torch.randn(SAMPLES, generator=self.generator, device=DEVICE)
        pressure = torch.sin(self.clock).mul_(0.3).add_(1.0).add_(shake, alpha=0.05)
        tilt = torch.cos(self.clock).mul_(4.0).add_(self.angle + 2.0 * wetness)
        return pressure, tilt

    def correct(self, unsteadiness):
        self.angle += 0.2 * (0.5 - unsteadiness)
        self.angle = min(65.0, max(40.0, self.angle))


class StrokeRecord:
    """Traces of the strokes in the order of writing."""

    def __init__(self):
        self._traces = []
        self.strokes = 0

    def add(self, pressure, tilt):
        self._traces.append(pressure)
        self._traces.append(tilt)
        self.strokes += 1

    def latest(self, count):
        recent = self._traces[-2 * count :]
        return recent[0::2], recent[1::2]

    def cut_back(self):
        surplus = self.strokes - NEEDED
        if surplus > 0:
            del self._traces[: 2 * surplus]
            self.strokes -= surplus


class Bench:
    """The arm, the ink and the estimate of the flow."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE)
        generator.manual_seed(seed)
        self.ink = InkReservoir(generator)
        self.arm = RobotArm(generator)
        self.record = StrokeRecord()
        self.written = 0
        self.unsteadiness = 0.0

    def write(self):
        pressure, tilt = self.arm.stroke(self.ink.level)
        self.record.add(pressure, tilt)
        self.ink.draw(0.2)
        self.written += 1

    def estimate(self):
        pressures, tilts = self.record.latest(COMPARED)
        flow = torch.stack([(p * torch.sin(torch.deg2rad(t))).mean() for p, t in zip(pressures, tilts)])
        self.unsteadiness = float(flow.std(unbiased=False) / flow.mean()) * 1000.0
        self.arm.correct(min(1.0, self.unsteadiness))

    def dip(self):
        self.ink.fill()
        self.record.cut_back()


def main():
    bench = Bench(seed=149)
    started = time.monotonic()
    next_dip = started + DIP_EVERY
    next_report = started + 3.0
    dips = 0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        bench.write()
        bench.estimate()
        if began >= next_dip:
            bench.dip()
            dips += 1
            next_dip += DIP_EVERY
        if began >= next_report:
            print(
                f"{bench.written:4d} strokes  {dips} dips  angle {bench.arm.angle:.2f}  "
                f"ink {bench.ink.level:.2f}",
                flush=True,
            )
            next_report += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"bench stopped after {bench.written} strokes and {dips} dips", flush=True)


if __name__ == "__main__":
    main()
