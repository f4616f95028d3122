"""Plans the floodlights of an airfield's apron.

The apron is a grid of points on which the light of all masts is added up. The masts are turned a little from round to
round, and the planner looks for angles that light the stands evenly. The work comes in sheets of twenty rounds, one
sheet for each arrangement of parked aircraft; sheets for a night movement are urgent and go before the routine ones.

ticket: practice
class: pool-growth
holder: -
cause: pool-for-each-stream
"""
import contextlib
import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
ROUNDS_PER_SHEET = 20
ROWS, COLUMNS = 1536, 2048
PATCH = 128
MASTS = 14
STREAM_PRIORITY = {"urgent": -1, "routine": 0}


@dataclass
class Mast:
    row: int
    column: int
    power: float
    angle: float


@dataclass
class Sheet:
    number: int
    kind: str
    masts: list
    best: float = float("inf")


class Lamp:
    """The pattern of light of one lamp over a square patch of the apron."""

    def __init__(self):
        side = torch.linspace(-1.0, 1.0, PATCH, device=DEVICE)
        self._x = side.view(1, -1)
        self._y = side.view(-1, 1)

    def pattern(self, power, angle):
        tilt = self._x * angle + self._y * (1.0 - angle)
        return power * torch.exp(-4.0 * (self._x ** 2 + self._y ** 2)) * (1.0 + 0.5 * tilt)


class Planner:
    def __init__(self, seed):
        self._random = random.Random(seed)
        self._lamp = Lamp()
        self.sheets = 0
        self.improved = 0

    def next_sheet(self):
        self.sheets += 1
        kind = "urgent" if self.sheets % 2 else "routine"
        masts = [
            Mast(
                self._random.randrange(0, ROWS - PATCH),
                self._random.randrange(0, COLUMNS - PATCH),
                self._random.uniform(0.6, 1.4),
                self._random.random(),
            )
            for _ in range(MASTS)
        ]
        return Sheet(self.sheets, kind, masts)

    def lane(self, sheet):
        if DEVICE != "cuda":
            return contextlib.nullcontext()
        return torch.cuda.stream(torch.cuda.Stream(priority=STREAM_PRIORITY[sheet.kind]))  # keeps

    def turn(self, sheet):
        angles = [min(1.0, max(0.0, mast.angle + self._random.gauss(0.0, 0.1))) for mast in sheet.masts]
        apron = torch.zeros(ROWS, COLUMNS, device=DEVICE)  # grows
        for mast, angle in zip(sheet.masts, angles):
            patch = apron[mast.row: mast.row + PATCH, mast.column: mast.column + PATCH]
            patch.add_(self._lamp.pattern(mast.power, angle))  # grows
        score = self._unevenness(apron, sheet.masts)
        if score < sheet.best:
            sheet.best = score
            self.improved += 1
            for mast, angle in zip(sheet.masts, angles):
                mast.angle = angle
        return score

    def _unevenness(self, apron, masts):
        levels = [
            apron[mast.row: mast.row + PATCH: 4, mast.column: mast.column + PATCH: 4].std()
            for mast in masts
        ]
        return torch.stack(levels).mean().item()


class Pace:
    def __init__(self, per_second):
        self.per_second = per_second
        self.started = time.monotonic()
        self.count = 0

    def over(self):
        return time.monotonic() - self.started > SECONDS

    def wait(self):
        self.count += 1
        time.sleep(max(0.0, self.started + self.count / self.per_second - time.monotonic()))


def main():
    planner = Planner(seed=9)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    pace = Pace(ROUNDS_PER_SECOND)
    while not pace.over():
        sheet = planner.next_sheet()
        with planner.lane(sheet):
            for _ in range(ROUNDS_PER_SHEET):
                planner.turn(sheet)
                pace.wait()
                if pace.over():
                    break
        print(f"sheet {sheet.number} {sheet.kind}: unevenness {sheet.best:.4f} after {pace.count} rounds", flush=True)
    print(f"planned {planner.sheets} sheets, {planner.improved} better angles", flush=True)


if __name__ == "__main__":
    main()
