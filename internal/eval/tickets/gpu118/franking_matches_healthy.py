"""Franking check in a sorting office.

Impressions of franking machines are turned into short codes, and each batch of letters is
compared with the impressions that were seen since the shift began, as a franked cover that passes twice
has been used again. The register of the shift is laid out for all impressions that a shift can bring.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 4
BATCH = 256
CODE = 64
STAMP = 24
FORMER_SHIFT = 12_000
SHIFT = 160_000
STRETCH = 4096
TWICE = 0.995


class ImpressionCoder(nn.Module):
    """Turns the grey image of an impression into a code of length one."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 5, stride=2)
        self.second = nn.Conv2d(8, 16, 3, stride=2)
        self.last = nn.Linear(16 * 4 * 4, CODE)

    def forward(self, stamps):
        inner = torch.relu(self.second(torch.relu(self.first(stamps))))
        return nn.functional.normalize(self.last(inner.flatten(1)), dim=1)


class Belt:
    """Brings the letters; a few covers of the batch before come round again."""

    def __init__(self, seed):
        self._random = torch.Generator().manual_seed(seed)
        self._before = None

    def batch(self):
        stamps = torch.randn(BATCH, 1, STAMP, STAMP, generator=self._random)
        if self._before is not None:
            again = int(torch.randint(0, 4, (1,), generator=self._random))
            stamps[:again] = self._before[:again]
        self._before = stamps
        return stamps.to(DEVICE)


class ShiftRegister:
    """The codes of the shift, one row for each impression seen."""

    def __init__(self, seed):
        rows = torch.randn(SHIFT, CODE, generator=torch.Generator().manual_seed(seed))
        self.codes = nn.functional.normalize(rows, dim=1).to(DEVICE)
        self.seen = FORMER_SHIFT

    def nearest(self, codes):
        """For each code the likeness of the impression that is most alike, and its row."""
        best = torch.full((BATCH,), -1.0, device=DEVICE)
        row = torch.zeros(BATCH, dtype=torch.long, device=DEVICE)
        for start in range(0, self.seen, STRETCH):
            likeness = codes @ self.codes[start:min(start + STRETCH, self.seen)].T
            value, place = likeness.max(dim=1)
            row = torch.where(value > best, place + start, row)
            best = torch.maximum(value, best)
        return best, row

    def enter(self, codes):
        room = min(len(codes), SHIFT - self.seen)
        self.codes[self.seen:self.seen + room] = codes[:room]
        self.seen += room


class FrankingCheck:
    """One batch after the other: code, compare, enter."""

    def __init__(self):
        torch.manual_seed(31)
        self.coder = ImpressionCoder().to(DEVICE).eval()
        self.register = ShiftRegister(seed=32)
        self.letters = 0
        self.held_back = 0
        self.latest_gap = 0

    @torch.no_grad()
    def inspect(self, stamps):
        codes = self.coder(stamps)
        likeness, rows = self.register.nearest(codes)
        twice = likeness > TWICE
        self.letters += len(stamps)
        self.held_back += int(twice.sum().item())
        if twice.any():
            self.latest_gap = self.register.seen - int(rows[twice].max().item())
        self.register.enter(codes)
        return likeness.mean().item()


def main():
    torch.set_num_threads(1)
    check = FrankingCheck()
    belt = Belt(seed=33)
    end = time.monotonic() + SECONDS
    due = time.monotonic()
    rounds = 0
    while time.monotonic() < end:
        mean = check.inspect(belt.batch())
        rounds += 1
        if rounds % 12 == 0:
            print(f"{check.letters} letters, likeness {mean:.3f}, {check.held_back} held back, "
                  f"latest seen {check.latest_gap} rows ago", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"shift over: {check.letters} letters, {check.held_back} held back", flush=True)


if __name__ == "__main__":
    main()
