"""Growth model of a coral nursery with a census at regular times.

Fragments of staghorn coral hang from lines in the lagoon. Between two censuses the program moves
water temperature and light over the lines. At a census every line is photographed, the height of
each fragment is worked out week by week from its first day, and the last week of some marked
fragments goes into the nursery's book.

ticket: practice
class: app-leak
holder: surveys
cause: results-kept
"""
import os
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
CENSUS_EVERY = 8.0
LINES = 35
FRAGMENTS = 4096
WEEKS = 64
MARKED = 6

torch.set_num_threads(1)


@dataclass
class Survey:
    day: int
    mean_height: float
    marked: list


class Lagoon:
    """Temperature and light over the lines, on a small grid."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.warmth = 26.0 + torch.rand(1024, 2048, generator=self.generator, device=DEVICE)
        self.light = torch.rand(1024, 2048, generator=self.generator, device=DEVICE)
        self.day = 0

    def step(self):
        self.day += 1
        shifted = torch.roll(self.warmth, 1, dims=0)
        self.warmth.mul_(0.98).add_(shifted, alpha=0.02)
        self.light.mul_(0.99).add_(0.005)

    def vigour(self, line):
        strip = self.warmth[line * 8:line * 8 + 8, :FRAGMENTS // 8].reshape(-1)
        return torch.exp(-0.2 * (strip - 26.5).pow(2))


class Nursery:
    """The lines of fragments and how each of them has grown."""

    def __init__(self, lagoon, seed):
        self.lagoon = lagoon
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.weeks = torch.arange(1, WEEKS + 1, device=DEVICE, dtype=torch.float32)
        self.rates = 0.2 + torch.rand(LINES, FRAGMENTS, generator=self.generator, device=DEVICE)

    def heights(self, line):
        rate = self.rates[line] * self.lagoon.vigour(line)
        return torch.outer(self.weeks, rate).log1p_()  # grows

    def prune(self):
        self.rates.mul_(0.995)


class CensusBook:
    """The nursery's book: one survey for each census."""

    def __init__(self, nursery):
        self.nursery = nursery
        self.surveys = []

    def take(self, day):
        marked = []
        total = 0.0
        for line in range(LINES):
            heights = self.nursery.heights(line)
            total += float(heights[-1].mean())
            marked.append(heights[-1, :MARKED])  # keeps
        survey = Survey(day, total / LINES, marked)
        self.surveys.append(survey)  # keeps
        return survey

    def gain(self):
        """How much the marked fragments have gained since the census before."""
        if len(self.surveys) < 2:
            return 0.0
        before, after = self.surveys[-2], self.surveys[-1]
        gain = 0.0
        for old, new in zip(before.marked, after.marked):
            gain += sum(float(b) - float(a) for a, b in zip(old, new))
        return gain / (LINES * MARKED)


def main():
    lagoon = Lagoon(seed=5)
    nursery = Nursery(lagoon, seed=6)
    book = CensusBook(nursery)
    start = time.monotonic()
    next_census = CENSUS_EVERY / 4
    last_line = start
    index = 0
    while time.monotonic() - start < SECONDS:
        lagoon.step()
        if time.monotonic() - start >= next_census:
            next_census += CENSUS_EVERY
            survey = book.take(lagoon.day)
            nursery.prune()
            print(f"census on day {survey.day}: mean height {survey.mean_height:.3f},"
                  f" marked fragments {book.gain():+.4f}", flush=True)
        index += 1
        now = time.monotonic()
        if now - last_line >= 4.0:
            last_line = now
            print(f"{now - start:6.1f} s  day {lagoon.day}  water {float(lagoon.warmth.mean()):.2f} C"
                  f"  light {float(lagoon.light.mean()):.3f}", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"nursery closed on day {lagoon.day} after {len(book.surveys)} censuses", flush=True)


if __name__ == "__main__":
    main()
