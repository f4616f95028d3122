"""Simulates the water in the chamber of a canal lock while boats are lifted.

The chamber is a grid of water heights and two components of the flow, driven by jets from the culverts in the floor.
The simulation notes the surface and the currents at each step; when a boat has been lifted the log gives the roughest
moment, the strongest pull on the mooring lines and the time to fill, and the next boat comes in.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

LENGTH = 480
BREADTH = 112
SUBSTEPS = 3
LIFT = 3.2
GRAVITY = 9.81
STEP_SECONDS = 0.08


@dataclass
class Lifting:
    """What the lock-keeper wants to know about one boat."""

    boat: int
    roughest: float
    pull: float
    steps: int

    def __str__(self):
        return f"boat {self.boat}: roughest {self.roughest:.3f} m, pull {self.pull:.2f} kN, {self.steps} steps"


@dataclass
class ChamberLog:
    """Surfaces and currents at each step, with the openings of the sluice."""

    surfaces: list = field(default_factory=list)
    currents: list = field(default_factory=list)
    openings: list = field(default_factory=list)

    def note(self, height, along, across, opening):
        self.surfaces.append(height - height.mean())
        self.currents.append(torch.hypot(along, across))
        self.openings.append(opening)

    def finish(self, boat, displacement):
        surfaces, self.surfaces = self.surfaces, []
        currents, self.currents = self.currents, []
        self.openings.clear()
        roughest = max(float(surface.abs().max()) for surface in surfaces)
        slopes = [float(surface[:, -20:].mean() - surface[:, :20].mean()) / LENGTH for surface in surfaces]
        drag = max(float(current.square().mean()) for current in currents)
        pull = displacement * (GRAVITY * max(abs(slope) for slope in slopes) + 0.02 * drag)
        return Lifting(boat, roughest, pull, len(surfaces))


class Chamber:
    """Linear shallow water on a grid, closed at the walls and the gates."""

    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)
        self.height = torch.zeros(BREADTH, LENGTH)
        self.along = torch.zeros(BREADTH, LENGTH)
        self.across = torch.zeros(BREADTH, LENGTH)
        culverts = torch.zeros(BREADTH, LENGTH)
        culverts[20:92:24, 40:440:50] = 1.0
        self.jets = self.smooth(culverts)
        self.jets = 0.97 + 0.03 * self.jets / self.jets.mean()

    @staticmethod
    def smooth(plane):
        padded = F.pad(plane[None, None], (4, 4, 4, 4), mode="replicate")
        return F.avg_pool2d(padded, 9, stride=1)[0, 0]

    def drain(self):
        self.height.zero_()
        self.along.mul_(0.2)
        self.across.mul_(0.2)

    def fill(self, opening):
        """Let water in for a moment; the jets are uneven, as those of real culverts are."""
        uneven = 1.0 + 0.3 * torch.randn(1, LENGTH, generator=self.random)
        inflow = opening * self.jets * uneven
        for _ in range(SUBSTEPS):
            self.along[:, 1:] -= 0.02 * GRAVITY * (self.height[:, 1:] - self.height[:, :-1])
            self.across[1:] -= 0.02 * GRAVITY * (self.height[1:] - self.height[:-1])
            self.along.mul_(0.97)
            self.across.mul_(0.97)
            self.height[:, :-1] -= 0.3 * (self.along[:, 1:] - self.along[:, :-1])
            self.height[:-1] -= 0.3 * (self.across[1:] - self.across[:-1])
            self.height.add_(inflow, alpha=1.0 / SUBSTEPS)

    def level(self):
        return float(self.height.mean())


def lift_boat(boat, chamber, log, end):
    chamber.drain()
    displacement = 20.0 + 7.0 * (boat % 5)
    opening = 0.0
    while chamber.level() < LIFT and time.time() < end:
        opening = min(opening + 0.03, 0.24)
        chamber.fill(opening)
        log.note(chamber.height, chamber.along, chamber.across, opening)
        time.sleep(STEP_SECONDS)
    return log.finish(boat, displacement)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    chamber = Chamber(seed=17)
    log = ChamberLog()
    boat = 0
    while time.time() < end - 0.2:
        boat += 1
        lifting = lift_boat(boat, chamber, log, end)
        if boat % 2 == 0:
            print(lifting, flush=True)


if __name__ == "__main__":
    main()
