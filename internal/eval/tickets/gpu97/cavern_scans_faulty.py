"""Scans of a cavern for a rescue team.

A team below ground sends sweeps of a hand-held laser scanner up the cable. Each sweep is staged in
page-locked memory and copied to the device, where its points are binned into a height map of the
cavern floor. The controller marks where a stretcher can be set down.

ticket: practice
class: host-growth
holder: _spare
cause: pinned-kept
"""
import os
import time
from collections import deque

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
LEAST, MOST = 70_000, 130_000
CHANNELS = 4
MAP = 256
IN_FLIGHT = 2
SWEEPS_PER_SECOND = 6


class Staging:
    """Page-locked buffers that are handed out for a sweep and come back once it is on the device."""

    def __init__(self):
        self._spare = {}

    def _allocate(self, points):
        return torch.empty(points, CHANNELS, pin_memory=DEVICE == "cuda")  # grows

    def take(self, points):
        shelf = self._spare.get(points)
        if shelf:
            return shelf.pop()
        return self._allocate(points)

    def give(self, buffer):
        self._spare.setdefault(buffer.shape[0], []).append(buffer)  # keeps


class Scanner:
    """The hand-held scanner below; the number of returns of a sweep depends on the walls."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.walls = torch.rand(MOST, CHANNELS, generator=self.generator)
        self.sweeps = 0

    def returns(self):
        return int(torch.randint(LEAST, MOST, (), generator=self.generator))

    def write(self, buffer, points):
        offset = (self.sweeps * 7919) % (MOST - points + 1)
        buffer[:points].copy_(self.walls[offset:offset + points])
        self.sweeps += 1


class Uplink:
    """Copies sweeps to the device, a few at a time."""

    def __init__(self, scanner):
        self.scanner = scanner
        self.staging = Staging()
        self._flying = deque()

    def send(self):
        points = self.scanner.returns()
        buffer = self.staging.take(points)
        self.scanner.write(buffer, points)
        sweep = buffer[:points].to(DEVICE, non_blocking=True)
        landed = None
        if DEVICE == "cuda":
            landed = torch.cuda.Event()
            landed.record()
        self._flying.append((buffer, landed))
        self._land()
        return sweep

    def _land(self):
        while len(self._flying) > IN_FLIGHT:
            buffer, landed = self._flying.popleft()
            if landed is not None:
                landed.synchronize()
            self.staging.give(buffer)


class FloorMap:
    def __init__(self):
        self.height = torch.zeros(MAP * MAP, device=DEVICE)
        self.weight = torch.full((MAP * MAP,), 1e-3, device=DEVICE)

    def add(self, sweep):
        east = (sweep[:, 0] * (MAP - 1)).long()
        north = (sweep[:, 1] * (MAP - 1)).long()
        cell = north * MAP + east
        self.height.mul_(0.95).index_add_(0, cell, sweep[:, 2] * sweep[:, 3])
        self.weight.mul_(0.95).index_add_(0, cell, sweep[:, 3])

    def level_share(self):
        floor = (self.height / self.weight).view(MAP, MAP)
        slope = (floor[1:, :] - floor[:-1, :]).abs()
        return float((slope < 0.15).float().mean())


def main():
    scanner = Scanner(seed=612)
    uplink = Uplink(scanner)
    floor = FloorMap()
    start = time.monotonic()
    next_line = start + 3.0
    level = 0.0
    while time.monotonic() - start < SECONDS:
        floor.add(uplink.send())
        level = floor.level_share()
        if time.monotonic() >= next_line:
            next_line += 3.0
            print(f"sweep {scanner.sweeps}: {level:.1%} of the floor is level", flush=True)
        time.sleep(1.0 / SWEEPS_PER_SECOND)
    print(f"team is back after {scanner.sweeps} sweeps, {level:.1%} level", flush=True)


if __name__ == "__main__":
    main()
