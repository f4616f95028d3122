"""Proofing cabinets of a bakery on board a ship.

The roll of the ship moves warm air through the cabinets. For every tray that goes in, a worker of the pool computes
how the gas cells of the dough will spread in the next quarter of an hour. The foreman hands the trays in at an even
pace, reads the forecasts in the order of the trays and adjusts the heating.

ticket: practice
class: host-growth
holder: bakes
cause: futures-kept
"""
import concurrent.futures
import math
import os
import time

import torch

torch.set_num_threads(1)

GRID = (72, 36, 36)
SWEEPS = 4
TRAYS_PER_SECOND = 9


def swell(cells, warmth):
    """One sweep of diffusion over the cells of a tray."""
    around = torch.zeros_like(cells)
    for dim in range(cells.dim()):
        around += cells.roll(1, dim) + cells.roll(-1, dim)
    return cells + 0.04 * warmth * (around - 6.0 * cells)


def proof_tray(seed, warmth):
    """The gas cells of a tray after a quarter of an hour."""
    random = torch.Generator().manual_seed(seed)
    cells = torch.rand(GRID, generator=random)
    for _ in range(SWEEPS):
        cells = swell(cells, warmth)
    return cells.clamp(0.0, 1.0)  # grows


class Sea:
    """The roll of the ship as two slow waves."""

    def __init__(self):
        self.start = time.time()

    def roll(self):
        elapsed = time.time() - self.start
        return 6.0 * math.sin(elapsed / 2.3) + 2.0 * math.sin(elapsed / 0.7)


class Heating:
    def __init__(self):
        self.warmth = 1.0

    def adjust(self, evenness):
        wish = 1.2 if evenness < 0.75 else 0.8
        self.warmth += 0.05 * (wish - self.warmth)


class Foreman:
    """Hands trays to the pool and reads what the pool found out."""

    def __init__(self, pool, sea):
        self.pool = pool
        self.sea = sea
        self.heating = Heating()
        self.bakes = []
        self.handed = 0
        self.read = 0
        self.evenness = 0.0

    def hand_in(self):
        warmth = self.heating.warmth * (1.0 + 0.01 * self.sea.roll())
        self.bakes.append(self.pool.submit(proof_tray, self.handed, warmth))  # keeps
        self.handed += 1

    def waiting(self):
        return self.bakes[self.read:]

    def catch_up(self):
        """Reads the forecasts that are ready, in the order of the trays."""
        for bake in self.waiting():
            if not bake.done():
                break
            cells = bake.result()
            self.evenness = 1.0 - float(cells.std()) / float(cells.mean())
            self.heating.adjust(self.evenness)
            self.read += 1

    def line(self):
        return (f"trays in {self.handed} read {self.read} evenness {self.evenness:.3f} "
                f"warmth {self.heating.warmth:.3f} roll {self.sea.roll():+.1f} deg")


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="cabinet") as pool:
        foreman = Foreman(pool, Sea())
        due = time.time()
        while due < end:
            foreman.hand_in()
            foreman.catch_up()
            if foreman.handed % 27 == 0:
                print(foreman.line(), flush=True)
            due += 1.0 / TRAYS_PER_SECOND
            time.sleep(max(0.0, due - time.time()))
        concurrent.futures.wait(foreman.waiting())
        foreman.catch_up()
    print(f"ovens cold, {foreman.read} trays proofed", flush=True)


if __name__ == "__main__":
    main()
