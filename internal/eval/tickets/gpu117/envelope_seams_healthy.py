"""Test rig for the seams of hot air balloon envelopes.

A burner heats the crown of an envelope in a slow rhythm while cameras take thermal fields of the
gores. The fields of one heating cycle are held together until its end, when the spread of the
temperature is worked out for the whole cycle. For every field the rig needs the stress in the
seams at the temperature of the crown, and these stress maps are costly to solve for.

ticket: practice
class: none
"""
import math
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
FIELDS_PER_CYCLE = 36
GORES, ROWS, COLUMNS = 8, 520, 525
SEAM_ROWS, SEAM_COLUMNS = 256, 512
BAND = 5.0

torch.set_num_threads(1)


class Burner:
    """Temperature of the crown, which swings with the blasts of the burner."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.period = 4.0

    def crown(self, index):
        phase = 2.0 * math.pi * index / (self.period * ROUNDS_PER_SECOND)
        return 97.5 + 20.0 * math.sin(phase) + self.random.uniform(-0.5, 0.5)


class ThermalCameras:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.pattern = torch.rand(GORES, ROWS, COLUMNS, generator=self.generator, device=DEVICE)

    def field(self, crown):
        return self.pattern * (crown - 20.0)


class HeatingCycle:
    """The fields of one heating cycle and their evaluation at its end."""

    def __init__(self, length):
        self.length = length
        self.fields = []
        self.finished = 0
        self.spread = 0.0

    def add(self, field):
        self.fields.append(field)
        if len(self.fields) == self.length:
            self.finish()

    def finish(self):
        means = [float(field[:, ::8].mean()) for field in self.fields]
        self.spread = max(means) - min(means)
        self.fields.clear()
        self.finished += 1


class SeamModel:
    """Stress in the seams at a temperature of the crown."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.cloth = torch.rand(SEAM_ROWS, SEAM_COLUMNS, generator=generator, device=DEVICE)
        self._stress = {}
        self.solved = 0

    def band(self, crown):
        return round(crown - crown % BAND, 1)

    def stress(self, crown):
        band = self.band(crown)
        found = self._stress.get(band)
        if found is None:
            found = self.solve(band)
            self._stress[band] = found
            self.solved += 1
        return found

    def solve(self, temperature):
        load = self.cloth * (temperature / 100.0)
        for _ in range(3):
            load = 0.5 * load + 0.25 * (torch.roll(load, 1, 0) + torch.roll(load, -1, 0))
        return load


def main():
    burner = Burner(seed=3)
    cameras = ThermalCameras(seed=4)
    cycle = HeatingCycle(FIELDS_PER_CYCLE)
    seams = SeamModel(seed=8)
    start = time.monotonic()
    last_line = start
    index = 0
    peak = 0.0
    while time.monotonic() - start < SECONDS:
        crown = burner.crown(index)
        cycle.add(cameras.field(crown))
        peak = max(peak, float(seams.stress(crown).max()))
        index += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  crown {crown:5.1f} C  cycles {cycle.finished}"
                  f"  spread {cycle.spread:.1f} K  peak stress {peak:.3f}", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"rig off after {cycle.finished} cycles, peak stress {peak:.3f}", flush=True)


if __name__ == "__main__":
    main()
