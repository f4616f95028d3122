"""Quality watch at the winder of a paper mill.

A scanner at the end of the machine measures the weight of the web across its width and along its run. Each measured
stretch is levelled, given to the log in detail, and judged against the grade of the roll. The details of a few
stretches are gathered and then condensed into a digest for the shift leader.

ticket: practice
class: app-leak
holder: trail buffer
cause: log-records-kept
"""
import logging
import logging.handlers
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STRETCH, WIDTH = 160, 1024
STRETCHES_PER_SECOND = 8
STRETCHES_PER_ROLL = 30

log = logging.getLogger("mill.winder")


class Profile:
    """Weight of one stretch of the web, in grams per square metre."""

    def __init__(self, number, weight):
        self.number = number
        self.weight = weight

    def __str__(self):
        low, high = float(self.weight.min()), float(self.weight.max())
        return f"stretch {self.number}: {low:.1f} to {high:.1f} g/m2"

    def streak(self):
        """Largest lasting deviation of one lane from the mean of the web."""
        lanes = self.weight.mean(dim=0)
        return float((lanes - lanes.mean()).abs().max())


class RollTrail(logging.handlers.MemoryHandler):
    """Gathers details and hands them on in one go: when there are enough, or at the end of a roll."""

    def shouldFlush(self, record):
        if getattr(record, "roll_end", False):
            return True
        return len(self.buffer) >= self.capacity or record.levelno >= self.flushLevel


class Digest(logging.Handler):
    """Condenses messages to what the shift leader reads."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.handled = 0
        self.latest = "nothing yet"

    def emit(self, record):
        self.handled += 1
        self.latest = record.getMessage()


class Scanner:
    """Synthetic scanner: a slow wave along the run, fixed streaks across the width, and noise."""

    def __init__(self, seed):
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._lanes = torch.randn(WIDTH, generator=self._generator, device=DEVICE)
        self._along = torch.linspace(0.0, 6.2832, STRETCH, device=DEVICE).unsqueeze(1)

    def measure(self, number):
        noise = torch.randn(STRETCH, WIDTH, generator=self._generator, device=DEVICE)
        wave = torch.sin(self._along + 0.3 * number)
        return 80.0 + 0.8 * wave + 0.5 * self._lanes + 0.7 * noise


class Winder:
    """Levels each stretch against the running mean of the roll and judges it."""

    def __init__(self, scanner):
        self.scanner = scanner
        self.level = torch.full((WIDTH,), 80.0, device=DEVICE)
        self.roll = 1
        self.worst = 0.0

    def run_stretch(self, number):
        raw = self.scanner.measure(number)
        self.level.lerp_(raw.mean(dim=0), 0.05)
        profile = Profile(number, raw - 0.5 * (self.level - 80.0))  # grows
        last = number % STRETCHES_PER_ROLL == 0
        log.debug("roll %d, %s", self.roll, profile, extra={"roll_end": last})  # keeps
        self.worst = max(self.worst, profile.streak())
        if last:
            self.roll += 1
            self.worst = 0.0


def open_log():
    digest = Digest()
    trail = RollTrail(capacity=16, flushLevel=logging.ERROR)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(trail)
    log.addHandler(digest)
    return digest


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "120"))
    digest = open_log()
    winder = Winder(Scanner(seed=208))

    start = time.monotonic()
    next_digest = start + 4.0
    number = 0
    while time.monotonic() - start < seconds:
        number += 1
        winder.run_stretch(number)
        if time.monotonic() >= next_digest:
            print(f"{digest.latest}; worst streak of the roll {winder.worst:.2f}", flush=True)
            next_digest += 4.0
        time.sleep(max(0.0, start + number / STRETCHES_PER_SECOND - time.monotonic()))
    print(f"wound {winder.roll - 1} rolls out of {number} stretches", flush=True)


if __name__ == "__main__":
    main()
