"""Smoke wires in a wind tunnel: streaks of smoke carried over a model for one set point after the other.

At each set point the wire is heated, the smoke drifts downstream with the flow, and its density is photographed
every tenth of a second. Set points with the strobe on are urgent, the others are run in the background, and the
sheet of the flow itself is the same for all of them.

ticket: practice
class: none
"""

import contextlib
import math
import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FRAMES_PER_SECOND = 10
FRAMES_PER_POINT = 20
ROWS = 1536
COLUMNS = 2048


def open_stream(strobe):
    """A stream of the device for work at a set point; the strobe's goes before the others."""
    if DEVICE != "cuda":
        return None
    return torch.cuda.Stream(priority=-1 if strobe else 0)


class Sheet:
    """The plane of laser light in the test section: the mean flow and the shadow of the model."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.loss = torch.rand(ROWS, COLUMNS, device=DEVICE, generator=generator).mul_(0.02)
        self.shadow = torch.ones(ROWS, COLUMNS, device=DEVICE)
        self.shadow[ROWS // 3 : ROWS // 2, COLUMNS // 4 : COLUMNS // 2] = 0.0
        self.plot = torch.zeros(64, device=DEVICE)
        self.streams = {strobe: open_stream(strobe) for strobe in (False, True)}


class SetPoint:
    """One speed and angle of the model, with the smoke as it hangs in the test section."""

    def __init__(self, number, sheet):
        self.number = number
        self.sheet = sheet
        self.strobe = number % 2 == 1
        self.angle = 0.05 * (number % 8)
        self.speed = 112 + 16 * (number % 5)
        self.stream = sheet.streams[self.strobe]
        self.smoke = None

    def lane(self):
        if self.stream is None:
            return contextlib.nullcontext()
        self.stream.wait_stream(torch.cuda.default_stream())
        return torch.cuda.stream(self.stream)

    def settle(self):
        if self.stream is not None:
            self.stream.synchronize()

    def heat_wire(self):
        with self.lane():
            self.smoke = torch.zeros(ROWS, COLUMNS, device=DEVICE)
            self.smoke[::32, :8] = 1.0
        self.settle()

    def frame(self, tick):
        """Carries the smoke one frame downstream and returns the density seen by the camera."""
        with self.lane():
            carried = torch.roll(self.smoke, shifts=self.speed, dims=1)
            carried.mul_(self.sheet.shadow)
            self.smoke.lerp_(carried, 0.9 * math.cos(self.angle))
            carried.copy_(self.smoke).mul_(self.sheet.loss)
            self.smoke.sub_(carried)
            self.smoke[::32, :8] += 0.5
            density = self.smoke[:, COLUMNS // 2 :: 64].mean()
            self.sheet.plot[tick % 64] = density
            seen = density.item()
        self.settle()
        return seen

    def clear(self):
        self.settle()
        self.smoke = None


class Run:
    """Goes through the set points of the day."""

    def __init__(self, seed):
        self.sheet = Sheet(seed)
        self.point = None
        self.points = 0
        self.density = 0.0

    def tick(self, tick):
        if tick % FRAMES_PER_POINT == 0:
            if self.point is not None:
                self.point.clear()
            self.point = SetPoint(self.points, self.sheet)
            self.point.heat_wire()
            self.points += 1
        self.density = self.point.frame(tick)


def main():
    run = Run(seed=55)
    start = time.monotonic()
    tick = 0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        run.tick(tick)
        tick += 1
        if tick % (3 * FRAMES_PER_SECOND) == 0:
            print(f"frame {tick}: set point {run.points}, density {run.density:.5f}", flush=True)
        time.sleep(max(0.0, 1.0 / FRAMES_PER_SECOND - (time.monotonic() - began)))
    print(f"fan stopped after {run.points} set points, plot {run.sheet.plot.mean().item():.5f}", flush=True)


if __name__ == "__main__":
    main()
