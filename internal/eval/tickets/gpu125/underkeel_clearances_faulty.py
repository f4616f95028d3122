"""Under-keel clearance service for harbour pilots.

Ten times a second the echo sounders of the pilot cutter give a strip of soundings; the strips of the last six seconds
are held for the squat estimate. Every three seconds the whole fairway is computed anew on a fine grid, which gains a
row as the cutter gets on, and a coarse section of it is laid beside those of the sweeps before. The pilot reads the
least clearance and how much it has changed against the older sections.

ticket: practice
class: pool-growth
holder: sections
cause: fragmentation
"""
import itertools
import os
import time
from collections import deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

STRIPS_PER_S = 10
STRIP = (96, 1024)
WINDOW_S = 6.0
SWEEP_S = 3.0
ROWS, COLUMNS = 24_260, 1024
COARSE = 93
CHART_ROWS = 258
SECTIONS = 48


class SectionShelf:
    """Coarse sections of the fairway, those of the last survey first, then one for each sweep."""

    def __init__(self, generator):
        self.sections = deque(maxlen=SECTIONS)
        for _ in range(SECTIONS):
            self.sections.append(torch.rand(CHART_ROWS, COLUMNS, generator=generator, device=DEVICE))
        self.sweeps = 0

    def add(self, grid):
        self.sections.append(grid[::COARSE].clone())  # grows keeps
        self.sweeps += 1

    def change(self):
        newest, oldest = self.sections[-1], self.sections[0]
        return float(newest[:64, :256].mean() - oldest[:64, :256].mean())


class Fairway:
    """Depth below the keel on a grid, from the tide and the latest soundings."""

    def __init__(self, generator):
        self.generator = generator
        self.rows = ROWS

    def sweep(self, tide, soundings):
        grid = torch.empty(self.rows, COLUMNS, device=DEVICE)  # grows
        grid.uniform_(4.0, 9.0, generator=self.generator)
        grid.add_(soundings).add_(tide)
        self.rows += 1
        return grid


class SoundingWindow:
    def __init__(self, span_s):
        self.span_s = span_s
        self._strips = deque()

    def add(self, stamp, strip):
        self._strips.append((stamp, strip))
        while self._strips[0][0] < stamp - self.span_s:
            self._strips.popleft()

    def mean(self):
        total = torch.zeros(STRIP[1], device=DEVICE)
        for _, strip in self._strips:
            total += strip[0]
        return total / len(self._strips)


class ClearanceService:
    def __init__(self, seed=17):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.shelf = SectionShelf(self.generator)
        self.fairway = Fairway(self.generator)
        self.window = SoundingWindow(WINDOW_S)

    def sound(self, stamp):
        strip = torch.rand(*STRIP, generator=self.generator, device=DEVICE)
        self.window.add(stamp, strip.sub_(0.5))

    def sweep(self, tide):
        grid = self.fairway.sweep(tide, self.window.mean())
        self.shelf.add(grid)
        least = grid.amin(dim=1).min()
        return float(least), self.shelf.change()


def main():
    torch.set_num_threads(1)
    service = ClearanceService()
    start = time.monotonic()
    due, sweep_due = start, start + 1.0
    for tick in itertools.count():
        now = time.monotonic()
        if now - start >= SECONDS:
            break
        service.sound(now)
        if now >= sweep_due:
            sweep_due += SWEEP_S
            least, change = service.sweep(tide=0.02 * (tick % 90))
            print(f"{now - start:6.1f} s: least clearance {least:.2f} m, change {change:+.3f} m", flush=True)
        due += 1.0 / STRIPS_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"pilot disembarked after {service.shelf.sweeps} sweeps", flush=True)


if __name__ == "__main__":
    main()
