"""Warmth charts of greenhouse benches.

A thermal camera on a rail passes over the benches of a large greenhouse. For each bench the keepers have a chart of
leaf warmth, cut into panels along the bench, from which they see where a heating pipe is blocked. When the camera has
passed a bench, its frames are laid out on a canvas, boiled down to a coarse reading and spread out again as a chart.

    ticket: practice
    class: pool-growth
    holder: panels
    cause: fragmentation
"""
import os
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 5
BENCHES = 58
CANVAS_ROWS, WIDTH = 2560, 1024
PANELS, PANEL_ROWS = 8, 164
CHART_ROWS = PANELS * PANEL_ROWS
PASS_ROUNDS = 10


class Bench:
    """One bench of plants and its chart, panel by panel."""

    def __init__(self, number, rng):
        self.number = number
        self.passes = 0
        self.panels = []
        for _ in range(PANELS):
            panel = torch.rand(PANEL_ROWS, WIDTH, generator=rng, device=DEVICE)
            self.panels.append(panel.mul_(3.0).add_(19.0))

    def take_over(self, chart):
        self.panels = list(chart.split(PANEL_ROWS))  # keeps
        self.passes += 1

    def coldest_panel(self):
        means = torch.stack([panel.mean() for panel in self.panels])
        return int(means.argmin()), float(means.min())


class RailCamera:
    """Photographs a bench on its way and reads the leaf warmth."""

    def __init__(self, rng):
        self.rng = rng
        self.vignette = torch.linspace(0.97, 1.0, WIDTH, device=DEVICE)
        self.sun = 0.0

    def read(self, bench):
        canvas = torch.empty(CANVAS_ROWS, WIDTH, device=DEVICE)  # grows
        canvas.normal_(20.0 + self.sun, 1.5, generator=self.rng)
        canvas.mul_(self.vignette)
        blocked = bench.number * 37 % (CANVAS_ROWS - 200)
        canvas[blocked:blocked + 200].sub_(1.2)
        return F.avg_pool2d(canvas.view(1, 1, CANVAS_ROWS, WIDTH), kernel_size=(16, 16))


def spread(reading):
    chart = F.interpolate(reading, size=(CHART_ROWS, WIDTH), mode="bilinear", align_corners=False)  # grows
    return chart.view(CHART_ROWS, WIDTH)


class Greenhouse:
    def __init__(self, seed):
        self.rng = torch.Generator(device=DEVICE).manual_seed(seed)
        self.camera = RailCamera(self.rng)
        self.benches = [Bench(number, self.rng) for number in range(BENCHES)]
        self.at = 0

    def pass_bench(self):
        bench = self.benches[self.at]
        reading = self.camera.read(bench)
        bench.take_over(spread(reading))
        self.at = (self.at + 1) % BENCHES
        return bench

    def water(self, rounds):
        """Misting cools a panel a little before the sun warms it again."""
        bench = self.benches[rounds * 11 % BENCHES]
        bench.panels[rounds % PANELS].sub_(0.05)
        self.camera.sun = 2.0 * (rounds % 300) / 300.0


def main():
    house = Greenhouse(seed=88)
    start = time.monotonic()
    rounds = 0
    coldest = (0, 0, 0.0)
    while time.monotonic() - start < SECONDS:
        house.water(rounds)
        if rounds % PASS_ROUNDS == 0:
            bench = house.pass_bench()
            coldest = (bench.number, *bench.coldest_panel())
        rounds += 1
        if rounds % 20 == 0:
            number, panel, warmth = coldest
            print(f"round {rounds}: bench {number}, coldest panel {panel} at {warmth:.2f} degrees", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{sum(bench.passes for bench in house.benches)} benches passed in {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
