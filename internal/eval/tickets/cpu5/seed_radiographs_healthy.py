"""Sorting of seed lots by X-ray at the intake of a seed bank.

Each lot that arrives is a series of trays, and each tray gives a few radiographs. A small
convolutional network marks the seeds as full, empty, part-filled or infested. For every lot
four radiographs of known full seeds of the species are passed through the stem first, and the
feature maps of the trays are compared with these while the lot is on the belt, so that a lot
that was scanned with a wrong tube voltage is noticed before it goes to the drying room.

ticket: practice
class: none
"""
import collections
import os
import time

import torch
from torch import nn

CLASSES = ("full", "empty", "part-filled", "infested")
SIDE = 96
SEEDS_PER_TRAY = 4
TRAYS_PER_LOT = 4
PACE = 1 / 8


class SeedNet(nn.Module):
    """Stem, two stages and a linear head; the weights are those of a fixed start."""

    def __init__(self, width=24):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.middle = nn.Sequential(nn.Conv2d(width, 32, 3, stride=4, padding=1), nn.ReLU())
        self.late = nn.Sequential(nn.Conv2d(32, 48, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Linear(48, len(CLASSES))

    def forward(self, radiographs):
        maps = self.late(self.middle(self.stem(radiographs)))
        return self.head(maps.mean(dim=(2, 3)))


class LotCheck:
    """Compares the stem's maps of a tray with those of the lot's known full seeds."""

    def __init__(self, lot, reference):
        self.lot = lot
        self.reference = reference
        self.on_belt = True
        self.handle = None
        self.distances = []

    def __call__(self, module, inputs, output):
        if self.on_belt and output.shape == self.reference.shape:
            self.distances.append(float((output - self.reference).abs().mean()))

    def verdict(self):
        self.on_belt = False
        mean = sum(self.distances) / max(1, len(self.distances))
        return mean, mean > 0.35


class XrayBench:
    """Stands for the scanner: gives radiographs of seeds with a bright or dark kernel."""

    def __init__(self, seed):
        self.source = torch.Generator().manual_seed(seed)
        axis = torch.linspace(-1, 1, SIDE)
        self.radius = (axis[:, None] ** 2 + 1.6 * axis[None, :] ** 2).sqrt()

    def scan(self, fill, voltage=1.0):
        noise = torch.randn(SEEDS_PER_TRAY, 1, SIDE, SIDE, generator=self.source) * 0.05
        size = 0.45 + 0.3 * torch.rand(SEEDS_PER_TRAY, 1, 1, 1, generator=self.source)
        kernel = (self.radius < size).float() * fill
        husk = ((self.radius - size).abs() < 0.05).float() * 0.5
        return (kernel + husk) * voltage + noise


class Intake:
    def __init__(self):
        torch.manual_seed(11)
        self.net = SeedNet().eval()
        self.bench = XrayBench(seed=5)
        self.recent = collections.deque(maxlen=12)
        self.tally = collections.Counter()
        self.lots = 0

    def open_lot(self):
        self.lots += 1
        reference = self.net.stem(self.bench.scan(fill=1.0))
        check = LotCheck(self.lots, reference)
        check.handle = self.net.stem.register_forward_hook(check)
        return check

    def sort_tray(self, lot):
        fill = 1.0 if lot % 5 else 0.2
        voltage = 1.6 if lot % 9 == 0 else 1.0
        votes = self.net(self.bench.scan(fill, voltage)).argmax(dim=1)
        self.tally.update(CLASSES[int(vote)] for vote in votes)

    def close_lot(self, check):
        distance, odd = check.verdict()
        check.handle.remove()
        self.recent.append(distance)
        self.tally["rescan"] += int(odd)


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    intake = Intake()
    spoken = time.time()
    while time.time() < end:
        check = intake.open_lot()
        for _ in range(TRAYS_PER_LOT):
            started = time.time()
            intake.sort_tray(check.lot)
            time.sleep(max(0.0, PACE - (time.time() - started)))
        intake.close_lot(check)
        if time.time() - spoken > 4:
            spoken = time.time()
            mean = sum(intake.recent) / len(intake.recent)
            print(f"lot {intake.lots}: distance {mean:.3f}, {dict(intake.tally)}", flush=True)
    print(f"belt stopped after {intake.lots} lots", flush=True)


if __name__ == "__main__":
    main()
