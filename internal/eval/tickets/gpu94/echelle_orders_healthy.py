"""Reduction of echelle spectra at an observatory, exposure by exposure through the night.

A visit to a star is a burst of short reads of the detector. The reads are co-added with a guard against cosmic
rays, the co-added frame is cut into strips along the orders of the spectrograph, and every strip is flattened
with the response of its order. Strips are scaled to a common level before the velocity of the star is measured.
Every few visits the newest strip becomes the reference for one of the standard stars in the catalogue.

ticket: practice
class: none
"""
import math
import os
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"

SIDE = 2048 if device == "cuda" else 192
READS = 48
STRIPS = 360
STANDARDS = 64
REFERENCE_EVERY = 6
VISITS_PER_SECOND = 4.0


class Detector:
    """Short reads of a star's spectrum: order traces, read noise, and a hit by a cosmic ray now and then."""

    def __init__(self):
        rows = torch.arange(SIDE, device=device, dtype=torch.float32).view(-1, 1)
        columns = torch.arange(SIDE, device=device, dtype=torch.float32).view(1, -1)
        bend = rows + 6.0 * (columns / SIDE - 0.5) ** 2
        self.traces = 0.6 + 0.4 * torch.cos(2 * math.pi * bend / 40.0)
        self.lines = 1.0 - 0.3 * torch.exp(-0.5 * ((columns % 97 - 48) / 3.0) ** 2)
        self.traces *= self.lines

    def read_out(self, brightness):
        read = torch.empty(SIDE, SIDE, device=device)
        read.normal_(0.0, 0.08).add_(self.traces, alpha=brightness)
        spot = torch.randint(0, SIDE - 4, (2,)).tolist()
        read[spot[0]:spot[0] + 3, spot[1]:spot[1] + 4] += 25.0
        return read


class Spectrograph:
    def __init__(self):
        self.rows, self.columns = SIDE // 4, SIDE // 2
        self.response = torch.linspace(0.7, 1.3, self.columns, device=device)
        steps = torch.linspace(0.0, 1.0, STRIPS).tolist()
        self.tops = [int(step * (SIDE - self.rows)) for step in steps]
        self.lefts = [(index % 5) * (SIDE - self.columns) // 4 for index in range(STRIPS)]

    def cut(self, frame):
        """The strips of all orders, flattened; a strip is a copy of its own."""
        strips = []
        for index, (top, left) in enumerate(zip(self.tops, self.lefts)):
            window = frame[top:top + self.rows, left:left + self.columns]
            strips.append(window / (self.response + 1e-3 * index))
        return strips


def co_add(reads):
    """Mean of the reads, where a read may exceed the plain mean by a few times the noise at most."""
    ceiling = torch.zeros_like(reads[0])
    for read in reads:
        ceiling.add_(read, alpha=1.0 / len(reads))
    ceiling.add_(0.4)
    total = torch.zeros_like(ceiling)
    for read in reads:
        total.add_(torch.minimum(read, ceiling, out=read), alpha=1.0 / len(reads))
    return total


class Night:
    def __init__(self):
        self.detector = Detector()
        self.spectrograph = Spectrograph()
        shape = (self.spectrograph.rows, self.spectrograph.columns)
        self.references = torch.zeros(STANDARDS, *shape, device=device)
        self.visits = 0
        self.updates = 0

    def observe(self, brightness):
        reads = [self.detector.read_out(brightness) for _ in range(READS)]
        return co_add(reads)

    def reduce(self, frame):
        strips = self.spectrograph.cut(frame)
        levels = torch.stack([strip.mean() for strip in strips])
        for strip, factor in zip(strips, (1.0 / levels).clamp(max=10.0).tolist()):
            strip.mul_(factor)
        newest = strips[-1]
        standard = self.references[self.visits % STANDARDS]
        shift = (newest - standard).square_().mean().sqrt().item()
        if self.visits % REFERENCE_EVERY == 0:
            self.references[self.updates % STANDARDS].copy_(newest)
            self.updates += 1
        return levels.std().item(), shift

    def visit(self):
        brightness = 1.0 + 0.2 * math.sin(self.visits / 9.0)
        frame = self.observe(brightness)
        spread, shift = self.reduce(frame)
        self.visits += 1
        return spread, shift


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(31)
    night = Night()
    following = time.time()
    while following < end:
        spread, shift = night.visit()
        if night.visits % 12 == 0:
            print(f"visit {night.visits}: spread of the orders {spread:.3f}, against standard {shift:.3f}, "
                  f"{night.updates} references taken", flush=True)
        following = max(following + 1.0 / VISITS_PER_SECOND, time.time())
        time.sleep(max(0.0, following - time.time()))


if __name__ == "__main__":
    main()
