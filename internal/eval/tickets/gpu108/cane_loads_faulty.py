"""Weighs the cane that comes to a sugar mill by a laser curtain over the weighbridge.

Each load is scanned in rows while the wagon passes; wagons have different lengths. The mill estimates the volume of the
cane, the share of leaves and the sugar it can expect, and pays the growers by that. Scans are laid into a workspace
of a suitable number of rows on the device.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
COLUMNS = 2048
SHORTEST, LONGEST = 1000, 3000
HEADROOM = 20
ROUNDS_PER_SECOND = 4
GROWERS = ["Almeida", "Barreto", "Castilho", "Duarte", "Esteves", "Figueira"]


@dataclass
class Scan:
    grower: str
    rows: int
    offset: int
    density: float
    leaf_share: float


@dataclass
class Receipt:
    grower: str
    volume: float
    sugar: float


class Weighbridge:
    """Makes the scans of the wagons that come in."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.wagons = 0

    def next_scan(self):
        self.wagons += 1
        return Scan(
            grower=self.rng.choice(GROWERS),
            rows=self.rng.randint(SHORTEST, LONGEST),
            offset=self.rng.randrange(64),
            density=self.rng.uniform(0.25, 0.4),
            leaf_share=self.rng.uniform(0.02, 0.12),
        )


class Estimator:
    """Turns a scan into the volume and the sugar of the load."""

    def __init__(self):
        self.surface = torch.rand(LONGEST + 64, COLUMNS, device=DEVICE)
        self.bed = torch.full((COLUMNS,), 0.1, device=DEVICE)
        self.rows = SHORTEST

    def workspace_rows(self, scan):
        """How many rows the workspace for this scan has."""
        self.rows = max(scan.rows, self.rows) + HEADROOM
        return self.rows

    def lay_out(self, scan):
        workspace = torch.zeros(self.workspace_rows(scan), COLUMNS, device=DEVICE)  # grows
        workspace[:scan.rows].copy_(self.surface[scan.offset:scan.offset + scan.rows])
        return workspace

    def estimate(self, scan):
        workspace = self.lay_out(scan)
        load = workspace[:scan.rows]
        load.sub_(self.bed).clamp_(min=0.0)
        volume = float(load.sum(dim=1).mean()) * scan.rows * 1e-4
        load.mul_(1.0 - scan.leaf_share)
        cane = float(load.sum(dim=1).mean()) * scan.rows * 1e-4
        return Receipt(scan.grower, volume, cane * scan.density * 0.13)


class Accounts:
    """What each grower has delivered, and the last receipts."""

    def __init__(self):
        self.sugar = {grower: 0.0 for grower in GROWERS}
        self.recent = deque(maxlen=20)

    def enter(self, receipt):
        self.sugar[receipt.grower] += receipt.sugar
        self.recent.append(receipt)

    def line(self):
        best = max(self.sugar, key=self.sugar.get)
        mean = sum(receipt.volume for receipt in self.recent) / max(1, len(self.recent))
        return f"mean volume {mean:.2f}, {best} leads with {self.sugar[best]:.2f}"


def main():
    torch.manual_seed(41)
    bridge = Weighbridge(41)
    estimator = Estimator()
    accounts = Accounts()
    start = time.monotonic()
    next_print = start + 2.0
    while (now := time.monotonic()) - start < SECONDS:
        scan = bridge.next_scan()
        accounts.enter(estimator.estimate(scan))
        if now >= next_print:
            print(f"{bridge.wagons} wagons, {accounts.line()}", flush=True)
            next_print += 2.0
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"bridge closed after {bridge.wagons} wagons: {accounts.line()}", flush=True)


if __name__ == "__main__":
    main()
