"""Counts trout in the raceways of a farm by their echo.

A sounder is moved from raceway to raceway on a rail. At each visit it records one long trace; the thinned envelope of
the trace becomes the reference of that raceway, against which the next visit is compared. As the rail wheels wear the
carriage takes a little longer for each pass, so each trace has a few samples more than the one before.

ticket: practice
class: none
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
RACEWAYS = 144
RAIL_ORDER = 55
FIRST_TRACE = 2_805_120
WEAR = 384
THINNING = 10
SPRING_REFERENCE = 268_800
LONGEST_REFERENCE = 290_000
LIVE_WINDOW = 4096
VISIT_EVERY = 1.2
PAUSE = 0.15


class Sounder:
    """Makes the traces: noise with the echoes of a shoal."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.samples = FIRST_TRACE

    def record(self):
        trace = torch.empty(self.samples, device=DEVICE)
        trace.normal_(generator=self.generator)
        trace[self.samples // 3:self.samples // 2].mul_(1.6)
        self.samples += WEAR
        return trace

    def glance(self):
        """A short look between two visits."""
        window = torch.empty(LIVE_WINDOW, device=DEVICE)
        window.normal_(generator=self.generator)
        return window.abs_().mean().item()


class RacewayBook:
    """The reference of each raceway, first from the spring survey."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.references = []
        for _ in range(RACEWAYS):
            reference = torch.zeros(LONGEST_REFERENCE, device=DEVICE)
            reference[:SPRING_REFERENCE].normal_(generator=generator).abs_()
            self.references.append(reference)
        self.lengths = [SPRING_REFERENCE] * RACEWAYS

    def level(self, raceway):
        return self.references[raceway][:self.lengths[raceway]].mean().item()

    def renew(self, raceway, trace):
        envelope = trace.abs_()[::THINNING]
        self.references[raceway][:envelope.numel()].copy_(envelope)
        self.lengths[raceway] = envelope.numel()


class Carriage:
    """Moves along the rail and visits the raceways in its fixed order."""

    def __init__(self):
        self.sounder = Sounder(seed=71)
        self.book = RacewayBook(seed=72)
        self.visits = 0
        self.change = 0.0

    def visit(self):
        raceway = (self.visits * RAIL_ORDER) % RACEWAYS
        before = self.book.level(raceway)
        trace = self.sounder.record()
        self.book.renew(raceway, trace)
        self.change = self.book.level(raceway) - before
        self.visits += 1
        return raceway


def main():
    torch.set_num_threads(1)
    carriage = Carriage()
    began = time.monotonic()
    spoken = began
    due = began
    raceway = 0
    murmur = 0.0
    while time.monotonic() - began < SECONDS:
        murmur = carriage.sounder.glance()
        if time.monotonic() >= due:
            due += VISIT_EVERY
            raceway = carriage.visit()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            print(f"visit {carriage.visits}: raceway {raceway}, change {carriage.change:+.4f}, "
                  f"murmur {murmur:.3f}", flush=True)
        time.sleep(PAUSE)
    print(f"carriage parked after {carriage.visits} visits", flush=True)


if __name__ == "__main__":
    main()
