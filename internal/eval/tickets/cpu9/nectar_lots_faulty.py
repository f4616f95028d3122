"""Lot grading of a honey co-operative from spectra.

Members bring their honey in lots.  A lot is scanned with a small spectrometer, whose cell is rinsed and
refilled for each lot, so that every lot has a response of its own: a table of gains by shelf and wavelength.
The table is tuned together with the shared grading head in a few steps of SGD with momentum, on the jars of
the lot whose grade the laboratory knows; then the other jars are graded and the lot goes to the blender.

    ticket: practice
    class: host-growth
    holder: param_groups state
    cause: optimizer-groups-added
"""
import os
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

SHELVES = 256
BANDS = 640
GRADES = 5
STEPS_PER_LOT = 5
PACE_S = 0.045


class GradingHead(nn.Module):
    """From corrected spectra to the grade; shared by all lots."""

    def __init__(self):
        super().__init__()
        self.squeeze = nn.Linear(BANDS, 24)
        self.grade = nn.Linear(24, GRADES)

    def forward(self, spectra):
        return self.grade(torch.tanh(self.squeeze(spectra)))


class Lot:
    """Jars of one delivery, with the response table of the rinsed cell."""

    def __init__(self, number, dice):
        self.number = number
        self.flora = int(torch.randint(GRADES, (1,), generator=dice))
        self.shelf = torch.randint(SHELVES, (48,), generator=dice)
        base = torch.linspace(0.0, 6.0 + self.flora, BANDS).sin()
        self.spectra = base + 0.2 * torch.randn(48, BANDS, generator=dice)
        self.labels = (self.flora + torch.randint(0, 2, (48,), generator=dice)) % GRADES
        self.response = nn.Parameter(torch.full((SHELVES, BANDS), 1.0))  # grows

    def known(self):
        return slice(0, 32)

    def open_jars(self):
        return slice(32, 48)

    def corrected(self, jars):
        return self.spectra[jars] * self.response[self.shelf[jars]]


class GradingRoom:
    def __init__(self):
        self.head = GradingHead()
        self.sgd = torch.optim.SGD(self.head.parameters(), lr=0.02, momentum=0.9)
        self.hits = deque(maxlen=40)
        self.lots = 0

    def admit(self, lot):
        self.sgd.add_param_group({"params": [lot.response], "lr": 0.2})  # keeps

    def tune(self, lot):
        self.sgd.zero_grad(set_to_none=True)
        jars = lot.known()
        loss = F.cross_entropy(self.head(lot.corrected(jars)), lot.labels[jars])
        loss = loss + 1e-6 * (lot.response - 1.0).pow(2).sum()
        loss.backward()
        self.sgd.step()  # grows keeps
        return loss.item()

    @torch.no_grad()
    def grade(self, lot):
        jars = lot.open_jars()
        guess = self.head(lot.corrected(jars)).argmax(1)
        self.hits.append((guess == lot.labels[jars]).float().mean().item())

    def dispatch(self, lot):
        """The lot leaves for the blender."""
        self.lots += 1
        lot.spectra = None


def deliveries(seed):
    dice = torch.Generator().manual_seed(seed)
    number = 0
    while True:
        number += 1
        yield Lot(number, dice)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    room = GradingRoom()
    arrivals = deliveries(11)
    report = time.time() + 2.0
    while time.time() < end:
        lot = next(arrivals)
        room.admit(lot)
        for _ in range(STEPS_PER_LOT):
            loss = room.tune(lot)
            time.sleep(PACE_S)
        room.grade(lot)
        room.dispatch(lot)
        if time.time() > report:
            share = sum(room.hits) / len(room.hits)
            print(f"lot {lot.number}: loss {loss:.3f}, {share:.0%} of open jars right", flush=True)
            report += 2.0


if __name__ == "__main__":
    main()
