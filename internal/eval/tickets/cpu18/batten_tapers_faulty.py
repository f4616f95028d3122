"""The batten bench of a sail loft bends tapered battens of glass fibre and compares them with the sail's design
curve. A batten on the bench is loaded step by step while a laser reads its shape; a small network corrects the
readings for the sag under the batten's own weight. Battens that follow the curve go to the sewing floor, stiff
ones go back to be planed, and those with a soft spot are broken up.

ticket: practice
class: host-growth
holder: _on_bench
cause: entries-left
"""
import os
import time

import torch
from torch import nn

POINTS = 256
LOAD_STEPS = 96
ROUNDS_PER_SECOND = 8
BATTENS_PER_ROUND = 14


class Batten:
    """A tapered batten with its stiffness along the length."""

    def __init__(self, number, stiffness):
        self.number = number
        self.stiffness = stiffness

    def planed(self):
        return Batten(self.number, self.stiffness * 0.97)


class Bending:
    """A batten while it is bent: its shapes under the steps of the load."""

    def __init__(self, batten, shapes):
        self.batten = batten
        self.shapes = shapes

    def misfit(self, design):
        return float((self.shapes[-1] - design).abs().mean())

    def softness(self):
        return float(self.batten.stiffness.amin() / self.batten.stiffness.mean())


class SagCorrection(nn.Module):
    """Corrects laser readings for the weight of the batten."""

    def __init__(self):
        super().__init__()
        self.smooth = nn.Conv1d(1, 1, 9, padding=4, bias=False)
        nn.init.constant_(self.smooth.weight, 1.0 / 9.0)

    def forward(self, readings):
        return self.smooth(readings.unsqueeze(1)).squeeze(1)  # grows


class BattenBench:
    """Bench with its laser; looks up the battens that lie on it by object."""

    def __init__(self, generator):
        self.generator = generator
        position = torch.linspace(0.0, 1.0, POINTS)
        self.design = position * (1.0 - position) * (1.6 - position)
        self.loads = torch.linspace(0.1, 1.0, LOAD_STEPS).unsqueeze(1)
        self.speckle = 0.004 * torch.randn(400, LOAD_STEPS, POINTS, generator=generator)
        self.correction = SagCorrection().eval()
        self._on_bench = {}

    @torch.no_grad()
    def clamp(self, batten):
        pick = int(torch.randint(len(self.speckle), (1,), generator=self.generator))
        readings = self.loads * self.design / batten.stiffness + self.speckle[pick]
        self._on_bench[id(batten)] = Bending(batten, self.correction(readings))  # keeps

    def bending(self, batten):
        return self._on_bench[id(batten)]

    def unclamp(self, batten):
        return self._on_bench.pop(id(batten))


class Inspection:
    """Decides where each batten goes."""

    def __init__(self, bench, generator):
        self.bench = bench
        self.generator = generator
        self.to_plane = []
        self.numbers = 0
        self.sewn = 0
        self.broken = 0
        self.planed = 0

    def _next_batten(self):
        if self.to_plane:
            return self.to_plane.pop()
        self.numbers += 1
        taper = torch.linspace(-0.1, 0.1, POINTS)
        level = 1.04 + 0.05 * float(torch.randn(1, generator=self.generator))
        stiffness = taper + level
        if self.numbers % 23 == 0:
            stiffness[110:140] *= 0.7
        return Batten(self.numbers, stiffness)

    def inspect(self):
        batten = self._next_batten()
        self.bench.clamp(batten)
        bending = self.bench.bending(batten)
        if bending.softness() < 0.8:
            self.bench.unclamp(batten)
            self.broken += 1
            return
        if float(batten.stiffness.mean()) > 1.03 and bending.misfit(self.bench.design) > 0.005:
            self.planed += 1
            self.to_plane.append(batten.planed())
            return
        self.bench.unclamp(batten)
        self.sewn += 1


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "120"))
    generator = torch.Generator().manual_seed(420)
    inspection = Inspection(BattenBench(generator), generator)
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        for _ in range(BATTENS_PER_ROUND):
            inspection.inspect()
        if began >= next_report:
            print(f"{began - start:6.1f} s  battens {inspection.numbers}  sewn in {inspection.sewn}  "
                  f"planed {inspection.planed}  broken {inspection.broken}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"bench closed: {inspection.sewn} battens sewn in of {inspection.numbers}", flush=True)


if __name__ == "__main__":
    main()
