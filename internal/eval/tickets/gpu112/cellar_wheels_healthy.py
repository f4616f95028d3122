"""Ripening cellar of a cheese dairy.

Wheels lie on the boards of the cellar and are tapped and scanned by ultrasound when they come in. A small network
estimates the eyes and cracks inside from the scan, again and again while the wheel ripens, with its age. Ripe
wheels are sold; wheels with cracks go to the grating room.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

BOARDS = 40
DEPTHS, ANGLES = 512, 640
RIPE = 6
LOOKS_PER_ROUND = 8
ROUNDS_PER_SECOND = 6


@dataclass
class Wheel:
    """A wheel on its board."""

    number: int
    board: int
    age: int = 0
    eyes: float = 0.0
    cracks: float = 0.0


class Ultrasound:
    """Scans of wheels: speckle with the echo of eyes and, in some, of a crack."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def scan(self):
        picture = self.random.standard_normal((DEPTHS, ANGLES), dtype=np.float32)
        for _ in range(int(self.random.integers(5, 20))):
            depth, angle = self.random.integers(0, DEPTHS - 24), self.random.integers(0, ANGLES - 24)
            picture[depth:depth + 24, angle:angle + 24] += 2.0
        if self.random.random() < 0.5:
            depth = int(self.random.integers(40, DEPTHS - 40))
            picture[depth:depth + 6] += 5.0
        return picture


class InsideNet(nn.Module):
    """Eyes and the strongest band of echoes from a scan and the age of the wheel."""

    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.AvgPool2d(4), nn.Conv2d(1, 6, 7, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.head = nn.Linear(6 * 16 + 1, 1)

    def forward(self, scans, ages):
        flat = torch.cat((self.eyes(scans).flatten(1), ages), 1)
        bands = scans.mean((1, 3)).unfold(1, 6, 2).mean(-1)
        return torch.sigmoid(self.head(flat)).squeeze(1), bands.amax(1)


class Cellar:
    def __init__(self, seed=29):
        torch.manual_seed(seed)
        self.ultrasound = Ultrasound(seed)
        self.net = InsideNet().to(DEVICE).eval()
        self.boards = {}
        self.scans_by_wheel = {}
        self.arrived = 0
        self.sold = 0
        self.grated = 0
        self.next_board = 0

    def lay(self, board):
        """A fresh wheel on a free board."""
        self.arrived += 1
        wheel = Wheel(self.arrived, board)
        self.scans_by_wheel[wheel.number] = self.ultrasound.scan()
        self.boards[board] = wheel

    @torch.no_grad()
    def inspect(self, wheels):
        scans = np.stack([self.scans_by_wheel[wheel.number] for wheel in wheels])
        ages = torch.tensor([[wheel.age / RIPE] for wheel in wheels], device=DEVICE)
        eyes, cracks = self.net(torch.from_numpy(scans).unsqueeze(1).to(DEVICE), ages)
        for wheel, eye, crack in zip(wheels, eyes.tolist(), cracks.tolist()):
            wheel.age += 1
            wheel.eyes, wheel.cracks = eye, crack

    def sell(self, wheel):
        self.sold += 1
        del self.scans_by_wheel[wheel.number]
        del self.boards[wheel.board]

    def grate(self, wheel):
        self.grated += 1
        del self.scans_by_wheel[wheel.number]
        del self.boards[wheel.board]

    def turn(self):
        """Look at the next boards, then clear those whose wheel is done."""
        picked = [(self.next_board + step) % BOARDS for step in range(LOOKS_PER_ROUND)]
        self.next_board = (self.next_board + LOOKS_PER_ROUND) % BOARDS
        for board in picked:
            if board not in self.boards:
                self.lay(board)
        wheels = [self.boards[board] for board in picked]
        self.inspect(wheels)
        for wheel in wheels:
            if wheel.cracks > 2.0 and wheel.age >= 2:
                self.grate(wheel)
            elif wheel.age >= RIPE:
                self.sell(wheel)


def main():
    cellar = Cellar()
    begin = time.monotonic()
    next_print = begin + 3.0
    while time.monotonic() - begin < SECONDS:
        started = time.monotonic()
        cellar.turn()
        if started >= next_print:
            print(f"wheels {cellar.arrived}  sold {cellar.sold}  grated {cellar.grated}", flush=True)
            next_print += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"cellar closed: {cellar.arrived} wheels, {cellar.sold} sold, {cellar.grated} grated", flush=True)


if __name__ == "__main__":
    main()
