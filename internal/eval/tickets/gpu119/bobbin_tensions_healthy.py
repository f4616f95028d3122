"""Tension control on a bobbin lace machine.

For each row of the lace the controller works out how the pull of the bobbins spreads through the ground that is
already made, and sets the brakes accordingly. Where the pull somewhere exceeds what the yarn can bear, the row is
given up, the brakes are eased and the next row starts. A summary of the rows and of the breaks is printed now and then.

ticket: practice
class: none
"""
import os
import time
from collections import Counter

import torch
import torch.nn.functional as F

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS_PER_SECOND = 10
REPORT_EVERY = 30
BOBBINS = 512
DEPTH = 256
YARNS = ("linen 80/2", "cotton 50", "silk 30/3")


class YarnBreak(Exception):
    """The pull in a row goes beyond the strength of its yarn."""

    def __init__(self, row, yarn, where, pull):
        super().__init__(f"row {row}: {yarn} breaks at bobbin {where}")
        self.row = row
        self.yarn = yarn
        self.where = where
        self.pull = pull


class LaceGround:
    """Stiffness of the ground: how the pull is passed on from pair to pair."""

    def __init__(self):
        kernel = torch.tensor([[0.05, 0.10, 0.05], [0.10, 0.40, 0.10], [0.05, 0.10, 0.05]], device=DEVICE)
        self.kernel = kernel.reshape(1, 1, 3, 3)
        self.patterns = 1.0 + 0.1 * torch.randn(48, DEPTH, BOBBINS, device=DEVICE)

    def pattern(self, row):
        return self.patterns[row % len(self.patterns)]

    def spread(self, pull, rounds=4):
        field = pull.reshape(1, 1, DEPTH, BOBBINS)
        for _ in range(rounds):
            field = F.conv2d(field, self.kernel, padding=1)
        return field.reshape(DEPTH, BOBBINS)


class BrakeController:
    """Sets the brakes row by row."""

    def __init__(self, ground):
        self.ground = ground
        self.brakes = torch.full((BOBBINS,), 0.8, device=DEVICE)
        self.finished = 0
        self._breaks = []

    def load_of(self, row):
        return 1.9 if row % 2 else 1.0

    def work_row(self, row):
        yarn = YARNS[row % len(YARNS)]
        pull = self.ground.pattern(row) * self.brakes * self.load_of(row)
        strain = self.ground.spread(pull)
        highest = float(strain.max())
        if highest > 1.35:
            raise YarnBreak(row, yarn, int(strain.max(dim=0).values.argmax()), highest)
        self.brakes = (self.brakes + 0.02 * (0.8 - strain.mean(dim=0))).clamp(0.75, 0.95)
        return highest

    def ease(self, where):
        low, high = max(0, where - 4), min(BOBBINS, where + 5)
        self.brakes[low:high] = (self.brakes[low:high] * 0.98).clamp(min=0.75)

    def run_row(self, row):
        try:
            self.work_row(row)
        except YarnBreak as stop:
            self.ease(stop.where)
            self._breaks.append((stop.yarn, stop.pull))
        else:
            self.finished += 1

    def summary(self):
        by_yarn = Counter(yarn for yarn, _ in self._breaks)
        hardest = max((pull for _, pull in self._breaks), default=0.0)
        parts = ", ".join(f"{yarn} {count}" for yarn, count in sorted(by_yarn.items()))
        return f"{self.finished} rows made, breaks: {parts or 'none'}, hardest pull {hardest:.2f}"


class RowClock:
    """Keeps the machine at its speed."""

    def __init__(self, rate):
        self.start = time.monotonic()
        self.rate = rate
        self.row = 0

    def running(self):
        return time.monotonic() - self.start < SECONDS

    def advance(self):
        self.row += 1
        time.sleep(max(0.0, self.start + self.row / self.rate - time.monotonic()))


def main():
    torch.manual_seed(80)
    controller = BrakeController(LaceGround())
    clock = RowClock(ROWS_PER_SECOND)
    with torch.no_grad():
        while clock.running():
            controller.run_row(clock.row)
            clock.advance()
            if clock.row % REPORT_EVERY == 0:
                print(controller.summary(), flush=True)
    print(f"machine stopped after {clock.row} rows; mean brake {float(controller.brakes.mean()):.3f}", flush=True)


if __name__ == "__main__":
    main()
