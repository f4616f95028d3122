"""Load on the keel blocks of a dry dock while it is pumped out. As the water falls, the ship's weight passes
from buoyancy to the blocks; for a level of the water the pressure under the hull is solved on a grid and then
read off at the blocks. The dock master's panel asks for the gauge's level a few times a second, ship after
ship.

ticket: practice
class: none
"""
import math
import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

PERIOD = 0.125
GRID = 512
LEVELS = 8
SWEEPS = 4
BLOCKS = 40
SAFE_LOAD = 3.2


@dataclass(frozen=True)
class Ship:
    name: str
    draught: float
    fineness: float


class TideGauge:
    """Level of the water in the dock: falls step by step, and is filled again for the next ship."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.tick = 0

    def read(self):
        step = self.tick % LEVELS
        self.tick += 1
        return 4.7 - 0.1 * step + self.rng.gauss(0.0, 0.004)


class HullSolver:
    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        self.stiffness = (torch.rand(24, GRID, GRID, generator=gen) + 0.5).to(DEVICE)
        axis = torch.linspace(-1.0, 1.0, GRID, device=DEVICE)
        self.beam, self.length = torch.meshgrid(axis, axis, indexing="ij")

    def shape(self, ship):
        return torch.exp(-ship.fineness * self.beam**2) * (1.0 - self.length.abs() ** 3)

    @torch.no_grad()
    def solve(self, ship, level):
        hull = self.shape(ship)
        lift = (hull * level / ship.draught).clamp(max=1.0)
        pressure = hull.mul(2.0).sub_(lift)
        for sweep in range(SWEEPS):
            flex = self.stiffness[sweep * 5]
            mean = 0.25 * (pressure.roll(1, 0) + pressure.roll(-1, 0) + pressure.roll(1, 1) + pressure.roll(-1, 1))
            pressure.lerp_(mean * flex, 0.2)
        return pressure


class LoadPanel:
    """What the dock master sees: loads on the blocks for the level of now."""

    def __init__(self, solver):
        self.solver = solver
        self._solved = {}
        self.asked = 0
        rows = torch.linspace(16, GRID - 17, BLOCKS).long()
        self.rows = rows.to(DEVICE)

    def pressure(self, ship, level):
        key = (ship.name, round(level, 1))
        found = self._solved.get(key)
        if found is None:
            found = self.solver.solve(ship, level)
            self._solved[key] = found
        return found

    def loads(self, ship, level):
        self.asked += 1
        field = self.pressure(ship, level)
        keel = field[GRID // 2 - 4 : GRID // 2 + 4]
        return keel[:, self.rows].mean(dim=0)

    def report(self, ship, level):
        loads = self.loads(ship, level)
        top = int(loads.argmax())
        return top, float(loads[top]), float(loads.std())


def main():
    ships = (Ship("ferry Alma", 5.1, 2.2), Ship("tug Brent", 4.9, 3.4))
    gauge = TideGauge(seed=21)
    panel = LoadPanel(HullSolver(seed=22))
    began = time.monotonic()
    due = began
    shown = began
    peak = -math.inf
    while time.monotonic() - began < SECONDS:
        ship = ships[(gauge.tick // LEVELS) % len(ships)]
        level = gauge.read()
        block, load, spread = panel.report(ship, level)
        peak = max(peak, load)
        if time.monotonic() - shown >= 3.0:
            shown = time.monotonic()
            state = "safe" if load < SAFE_LOAD else "stop the pumps"
            print(f"{ship.name} at {level:.2f} m: block {block} bears {load:.3f} ({spread:.3f}), {state}", flush=True)
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"dock dry, {panel.asked} readings, greatest load {peak:.3f}", flush=True)


if __name__ == "__main__":
    main()
