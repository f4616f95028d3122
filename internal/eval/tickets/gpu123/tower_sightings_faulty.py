"""A desk for the smoke sightings of a chain of fire towers.

Each tower camera looks over its own sector and hands in a patch wherever haze stands above the background. The desk
opens a case for each patch, keeps the patch beside it while the dispatcher waits for a second opinion, and closes
the case when a crew confirms it, when it turns out to be dust, or when a neighbouring tower has reported the same
column.

ticket: practice
class: app-leak
holder: evidence
cause: entries-left
"""
import os
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 10
TOWERS = 6
PATCH = (4, 256, 256)
WAIT_ROUNDS = 12


@dataclass
class Case:
    number: int
    tower: int
    bearing: float
    opened: int
    weight: int = 1


class HazeCamera:
    """Random sector pictures with a soft column of smoke in each."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        bands, height, width = PATCH
        self.backdrop = torch.rand(TOWERS, bands, height, width, device=DEVICE, generator=self.generator)
        self.rows = torch.linspace(0.0, 1.0, height, device=DEVICE)[:, None]
        self.columns = torch.linspace(-1.0, 1.0, width, device=DEVICE)[None, :]

    def look(self, tower, bearing):
        noise = torch.randn(PATCH, device=DEVICE, generator=self.generator)
        lean = bearing / 180.0 - 1.0
        column = torch.exp(-((self.columns - lean * self.rows) ** 2) / (0.02 + 0.1 * self.rows))
        return self.backdrop[tower] + 0.05 * noise + 0.6 * column


class SightingDesk:
    """Open cases by number, and for each the patch on which it rests."""

    def __init__(self):
        self.cases = {}
        self.evidence = {}
        self.kernel = torch.ones(1, 1, 9, 9, device=DEVICE) / 81.0
        self.tally = {"crew": 0, "dust": 0, "joined": 0}
        self.serial = 0

    def open(self, tower, bearing, patch, now):
        case = Case(self.serial, tower, bearing, now)
        self.serial += 1
        self.cases[case.number] = case
        self.evidence[case.number] = patch  # keeps
        return case

    def density(self, case):
        haze = self.evidence[case.number].mean(0)[None, None]
        return float(F.conv2d(haze, self.kernel, padding=4).max())

    def close(self, case, verdict):
        del self.cases[case.number]
        self.evidence.pop(case.number)
        self.tally[verdict] += 1

    def join(self, case, other):
        """Let the older case go on for both, with the bearing between them."""
        total = case.weight + other.weight
        other.bearing = (other.bearing * other.weight + case.bearing * case.weight) / total
        other.weight = total
        del self.cases[case.number]
        self.tally["joined"] += 1

    def due(self, now):
        return [case for case in self.cases.values() if now - case.opened >= WAIT_ROUNDS]


def settle(desk, case, draw):
    """The dispatcher's word on a case that has waited long enough."""
    neighbours = [c for c in desk.cases.values() if c.number != case.number]
    if neighbours and draw < 0.6:
        nearest = min(neighbours, key=lambda c: abs(c.bearing - case.bearing))
        desk.join(case, nearest)
    elif desk.density(case) > 1.0:
        desk.close(case, "crew")
    else:
        desk.close(case, "dust")


def main():
    torch.set_num_threads(1)
    draws = torch.Generator().manual_seed(41)
    camera = HazeCamera(17)
    desk = SightingDesk()
    start = time.monotonic()
    rounds, shown = 0, 0
    while time.monotonic() - start < SECONDS:
        tower = rounds % TOWERS
        bearing, draw = torch.rand(2, generator=draws).tolist()
        patch = camera.look(tower, 360.0 * bearing)  # grows
        desk.open(tower, 360.0 * bearing, patch, rounds)
        for case in desk.due(rounds):
            settle(desk, case, draw)
        rounds += 1
        if rounds // (3 * ROUNDS_PER_SECOND) > shown:
            shown += 1
            print(f"round {rounds}: {len(desk.cases)} waiting, {desk.tally}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"watch ended after {rounds} rounds, verdicts {desk.tally}", flush=True)


if __name__ == "__main__":
    main()
