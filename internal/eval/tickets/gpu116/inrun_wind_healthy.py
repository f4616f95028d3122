"""Compensates for the wind at a ski jumping hill.

Before a group of jumpers starts, a study flies each of them many times through the measured wind, from the
inrun to the outrun, and sets the points for wind and gate. The studies take their room on the device from an
arena, so that the live scoring beside them is not disturbed.

ticket: practice
class: none
"""
import contextlib
import itertools
import os
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
HILLS = ("Bergisel", "Holmenkollen", "Schattenberg")
FLIGHTS = 64
MOMENTS = 480
LIFT = 0.021
DRAG = 0.0047
ROUNDS_PER_SECOND = 3


@dataclass
class Group:
    serial: int
    hill: str
    speed: float
    wind: torch.Tensor


class Arenas:
    """Room on the device for studies, apart from that of the scoring."""

    def __init__(self):
        self._arenas = {}

    @contextlib.contextmanager
    def room_for(self, group):
        if DEVICE != "cuda":
            yield
            return
        key = group.hill
        if key not in self._arenas:
            self._arenas[key] = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(self._arenas[key]):
            yield


class WindMast:
    """Wind along the hill, as the anemometers see it; the same shape for every hill."""

    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)
        self.serials = itertools.count(1)
        self.mean = torch.zeros(MOMENTS)

    def next_group(self):
        serial = next(self.serials)
        self.mean = 0.8 * self.mean + 0.2 * torch.randn(MOMENTS, generator=self.rng)
        speed = 25.0 + float(torch.rand(1, generator=self.rng)) * 1.5
        return Group(serial, HILLS[serial % len(HILLS)], speed, self.mean.to(DEVICE))


class FlightStudy:
    def __init__(self, seed):
        self.gusts = torch.Generator(device=DEVICE).manual_seed(seed)
        self.time = torch.linspace(0, 6, MOMENTS, device=DEVICE)
        self.slope = -0.6 * self.time - 0.2

    def fly(self, group):
        """Mean length of the flights in metres and its spread."""
        noise = torch.randn(2, FLIGHTS, MOMENTS, 2, generator=self.gusts, device=DEVICE)
        wind = noise.mul(0.3).add_(group.wind.view(1, 1, MOMENTS, 1))
        along = wind[..., 0]
        air = group.speed - along
        forces = torch.stack([-DRAG * air * air, LIFT * air * air - 9.81], dim=-1)
        step = float(self.time[1] - self.time[0])
        speed = forces.mul_(step).cumsum_(dim=2)
        speed[..., 0] += group.speed
        path = speed.mul_(step).cumsum_(dim=2)
        below = path[..., 1] < self.slope * 6.0
        landing = torch.where(below.any(2), below.float().argmax(2), torch.full_like(below[..., 0].long(), MOMENTS - 1))
        length = path[..., 0].gather(2, landing.unsqueeze(2)).squeeze(2)
        return float(length.mean()), float(length.std())


class WindOffice:
    """Sets the points of each group."""

    def __init__(self, seed):
        self.mast = WindMast(seed)
        self.study = FlightStudy(seed + 1)
        self.arenas = Arenas()
        self.usual = dict.fromkeys(HILLS, 110.0)
        self.latest = ""

    def serve(self):
        group = self.mast.next_group()
        with self.arenas.room_for(group):
            length, spread = self.study.fly(group)
        usual = self.usual[group.hill]
        self.usual[group.hill] = 0.9 * usual + 0.1 * length
        points = 1.8 * (usual - length)
        self.latest = f"{group.hill}: {length:.1f} m +- {spread:.1f}, {points:+.1f} points"
        return group.serial


def main():
    torch.set_num_threads(1)
    office = WindOffice(seed=61)
    begun = time.monotonic()
    next_line = begun + 2.0
    groups = 0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        groups = office.serve()
        if started >= next_line:
            print(f"group {groups}; {office.latest}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"hill closed after {groups} groups; {office.latest}", flush=True)


if __name__ == "__main__":
    main()
