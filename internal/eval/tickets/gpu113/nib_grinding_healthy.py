"""Grinding of gold nibs for fountain pens.

A simulated grinding wheel takes the tipping of a nib down to its profile while a controller watches the contact
pressure. Once the wheel has warmed up, the shop opens its inspection bench as well: every nib is written with on test
paper, and the friction that is measured over the tipping becomes a map. A tray of nibs is graded together when it is
full.

ticket: practice
class: none
"""
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
WARM_UP = 15.0
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
TRAY = 16
MAP_SHAPE = (256, 512)

torch.set_num_threads(1)


class GrindingWheel:
    """Height fields of the nibs in the jig and the grit of the wheel."""

    def __init__(self, generator, jig=48):
        self.generator = generator
        self.heights = torch.rand(jig, *MAP_SHAPE, generator=generator, device=DEVICE).mul_(0.1).add_(1.0)
        u = torch.linspace(-1, 1, MAP_SHAPE[0], device=DEVICE)[:, None]
        v = torch.linspace(-1, 1, MAP_SHAPE[1], device=DEVICE)[None, :]
        self.profile = (1.0 - 0.4 * u * u - 0.2 * v * v).clamp_min(0.2)
        self.temperature = 20.0
        self.slot = 0

    def pass_over(self, pressure):
        nib = self.heights[self.slot]
        excess = (nib - self.profile).clamp_min_(0.0)
        grit = torch.rand(MAP_SHAPE, generator=self.generator, device=DEVICE)
        nib.sub_(excess * grit * pressure)
        removed = float((excess * grit).mean()) * pressure
        self.temperature += 4.0 * removed - 0.01 * (self.temperature - 20.0)
        return removed

    def next_slot(self):
        self.slot = (self.slot + 1) % len(self.heights)
        fresh = torch.rand(MAP_SHAPE, generator=self.generator, device=DEVICE)
        self.heights[self.slot].copy_(fresh.mul_(0.1).add_(1.0))


class PressureControl:
    """Keeps the removal for each pass near the set value."""

    def __init__(self, wanted=0.05):
        self.wanted = wanted
        self.pressure = 0.3

    def update(self, removed):
        self.pressure += 0.5 * (self.wanted - removed)
        self.pressure = min(0.9, max(0.05, self.pressure))


class InspectionBench:
    """Writes with each finished nib and grades them by trays."""

    def __init__(self, generator):
        self.generator = generator
        kernel = torch.hann_window(15, device=DEVICE)
        self.kernel = (kernel[:, None] * kernel[None, :])[None, None]
        self.kernel /= self.kernel.sum()
        self.graded = []
        self.trays = 0
        self.last_grade = ("-", 0.0)

    def write_test(self, nib, profile):
        paper = torch.randn(MAP_SHAPE, generator=self.generator, device=DEVICE).mul_(0.02)
        contact = (nib - profile + paper)[None, None]
        friction = torch.nn.functional.conv2d(contact, self.kernel, padding=7)
        return friction[0, 0]

    def inspect(self, number, nib, profile):
        friction = self.write_test(nib, profile)
        self.graded.append((number, friction))
        if len(self.graded) % TRAY == 0:
            self.close_tray()

    def close_tray(self):
        tray = self.graded[-TRAY:]
        mean = sum(friction for _, friction in tray) / TRAY
        spread = [(float((friction - mean).abs().mean()), number) for number, friction in tray]
        best_spread, best = min(spread)
        self.last_grade = (f"nib {best}", best_spread)
        self.trays += 1
        self.graded.clear()


def main():
    generator = torch.Generator(device=DEVICE)
    generator.manual_seed(1884)
    wheel = GrindingWheel(generator)
    control = PressureControl()
    bench = None
    started = time.monotonic()
    next_report = started + 3.0
    ground = 0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        for _ in range(3):
            control.update(wheel.pass_over(control.pressure))
        if bench is None and began - started >= WARM_UP:
            bench = InspectionBench(generator)
            print("inspection bench opened", flush=True)
        if bench is not None:
            bench.inspect(ground, wheel.heights[wheel.slot], wheel.profile)
        wheel.next_slot()
        ground += 1
        if began >= next_report:
            grade = f"{bench.trays} trays, smoothest {bench.last_grade[0]}" if bench else "warming up"
            print(f"{ground:4d} nibs ground  {wheel.temperature:5.2f} C  {grade}", flush=True)
            next_report += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"shift over: {ground} nibs ground, {bench.trays if bench else 0} trays graded", flush=True)


if __name__ == "__main__":
    main()
