"""Light planning for a coral nursery in a shallow lagoon.

Two beds of fragments hang from ropes under floats. At every reading of the tide gauge the planner works out how much
light reaches each square of a bed, compares it with what the fragments there have adapted to, and tells the float
winches by how much to raise or lower the ropes.

ticket: practice
class: app-leak
holder: _fields
cause: cache-without-bound
"""
import math
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS, COLS = 384, 512
READINGS_PER_SECOND = 8
TIDE_PERIOD = 16


class Bed:
    """Ropes of one bed: their depth, and the light that the fragments are used to."""

    def __init__(self, name, mean_depth, generator):
        self.name = name
        relief = torch.rand(ROWS, COLS, generator=generator).to(DEVICE)
        self.depth = mean_depth + 0.4 * relief
        self.adapted = torch.full((ROWS, COLS), 240.0, device=DEVICE)
        self.trim = torch.zeros(ROWS, COLS, device=DEVICE)

    def acclimatise(self, light, rate=0.02):
        self.adapted.lerp_(light, rate)


class TideGauge:
    """Pressure gauge at the jetty, in metres above the datum."""

    def __init__(self, seed):
        self._rng = random.Random(seed)
        self._phase = 0

    def read(self):
        height = 1.2 + 0.62 * math.sin(2.0 * math.pi * self._phase / TIDE_PERIOD)
        self._phase += 1
        return height + self._rng.uniform(-0.008, 0.008)


class LightAtlas:
    """Light under water for each bed and state of the tide; a field costs some forty passes over the bed."""

    def __init__(self, beds, attenuation=0.31, surface=900.0):
        self._beds = {bed.name: bed for bed in beds}
        self._attenuation = attenuation
        self._surface = surface
        self._fields = {}

    def field(self, name, tide):
        key = (name, tide)
        light = self._fields.get(key)
        if light is None:
            light = self._trace(self._beds[name], key[1])
            self._fields[key] = light  # keeps
        return light

    def _trace(self, bed, tide):
        path = bed.depth + tide
        total = torch.zeros_like(path)  # grows
        for step in range(40):
            angle = math.radians(-60.0 + 3.0 * step)
            total.add_(torch.exp(-self._attenuation * path / math.cos(angle)), alpha=math.cos(angle) ** 2)
        return total.mul_(self._surface / 20.0)


class WinchPlan:
    """Turns the difference between light and habit into movements of the ropes."""

    def __init__(self, gain=4e-4, reach=0.25):
        self.gain = gain
        self.reach = reach
        self.moves = 0

    def apply(self, bed, light):
        error = light - bed.adapted
        step = (self.gain * error).clamp_(-0.02, 0.02)
        bed.trim.add_(step).clamp_(-self.reach, self.reach)
        self.moves += 1
        return float(error.abs().mean())


def report(reading, beds, stress):
    trims = ", ".join(f"{bed.name} {float(bed.trim.mean()):+.3f} m" for bed in beds)
    print(f"reading {reading}: trim {trims}, mean light error {stress:.1f}", flush=True)


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "120"))
    generator = torch.Generator().manual_seed(411)
    beds = [Bed("staghorn", 2.4, generator), Bed("brain", 3.1, generator)]
    atlas = LightAtlas(beds)
    gauge = TideGauge(seed=19)
    plan = WinchPlan()

    start = time.monotonic()
    next_report = start + 3.0
    reading = 0
    stress = 0.0
    while time.monotonic() - start < seconds:
        bed = beds[reading % len(beds)]
        light = atlas.field(bed.name, gauge.read())
        stress = plan.apply(bed, light)
        bed.acclimatise(light)
        reading += 1
        if time.monotonic() >= next_report:
            report(reading, beds, stress)
            next_report += 3.0
        time.sleep(max(0.0, start + reading / READINGS_PER_SECOND - time.monotonic()))
    print(f"planned {plan.moves} moves of the winches", flush=True)


if __name__ == "__main__":
    main()
