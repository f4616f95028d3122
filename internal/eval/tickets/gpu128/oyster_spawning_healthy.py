"""Larvae of an oyster farm drifting in a shallow bay until they settle on the collectors.

A density of larvae on a grid is carried by a tidal current and spread by turbulence; a part of it settles in every
step where collectors hang. From time to time the whole water column is resolved for two seconds, layer by layer, to
correct the mean drift. The settlement of the last steps is averaged for the farmers' bulletin.

ticket: practice
class: none
"""
import math
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.1
ROWS, COLS = 256, 512
LAYERS = 400
COLUMN_EVERY = 7.0
COLUMN_FOR = 2.0
BULLETIN_EVERY = 3.0


class Bay:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.larvae = torch.rand(ROWS, COLS, generator=generator).to(DEVICE)
        self.collectors = (torch.rand(ROWS, COLS, generator=generator) > 0.8).float().to(DEVICE)
        self.depth = (2.0 + 6.0 * torch.rand(ROWS, 1, generator=generator)).to(DEVICE)
        self.drift = 0.0

    def advect(self, hour):
        shift = int(round(3.0 * math.sin(2.0 * math.pi * hour / 12.4) + self.drift))
        moved = torch.roll(self.larvae, shift, dims=1)
        spread = (torch.roll(moved, 1, 0) + torch.roll(moved, -1, 0) - 2.0 * moved) * 0.12
        self.larvae = moved + spread

    def settle(self):
        rate = 0.04 / self.depth
        settled = self.larvae * self.collectors * rate
        self.larvae = self.larvae - settled + float(settled.mean())
        return settled


class WaterColumn:
    """Layers of the whole bay, there for as long as the drift is being corrected."""

    def __init__(self):
        self.layers = None
        self.until = 0.0
        self.next_at = 1.0

    def tend(self, bay, now):
        if self.layers is None and now >= self.next_at:
            profile = torch.linspace(0.0, 1.0, LAYERS, device=DEVICE).view(LAYERS, 1, 1)
            self.layers = profile * bay.larvae
            self.until = now + COLUMN_FOR
            self.next_at += COLUMN_EVERY
        elif self.layers is not None and now < self.until:
            bay.drift = float(self.layers[::80].mean()) * 0.1
        elif self.layers is not None:
            self.layers = None


class Bulletin:
    def __init__(self):
        self.settlements = []
        self.issued = 0
        self.total = 0.0

    def note(self, settled):
        self.settlements.append(settled)

    def issue(self, now):
        recent = torch.stack(self.settlements[-20:])
        mean = float(recent.mean()) * 1e6
        peak_row = int(recent.sum(dim=(0, 2)).argmax())
        self.settlements.clear()
        self.issued += 1
        self.total += mean
        print(f"{now:5.1f} s bulletin {self.issued}: settlement {mean:.1f} ppm, best row {peak_row}", flush=True)


def main():
    torch.set_num_threads(1)
    bay = Bay(seed=23)
    column = WaterColumn()
    bulletin = Bulletin()
    start = time.monotonic()
    rounds = 0
    next_bulletin = BULLETIN_EVERY
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        bay.advect(hour=rounds * 0.05)
        bulletin.note(bay.settle())
        column.tend(bay, now)
        rounds += 1
        if now >= next_bulletin:
            bulletin.issue(now)
            next_bulletin += BULLETIN_EVERY
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"season over after {rounds} steps, {bulletin.issued} bulletins, sum {bulletin.total:.1f} ppm", flush=True)


if __name__ == "__main__":
    main()
