"""Architects send in scanned plans, in pieces, and get them back with walls and doors marked by a network. A plan whose
pieces do not all come is given up after ten minutes: a timer sees to that, and does nothing if the plan has long been
checked and sent back, as almost all are within a second.

ticket: practice
class: host-growth
holder: args timer Timer _active
cause: timers-left threads-left
"""

import os
import random
import threading
import time

import torch
from torch import nn

SIDE, PIECES, PATIENCE = 768, 6, 600.0


class Marker(nn.Module):
    """Says for each place whether it is a wall, a door, or neither."""

    def __init__(self):
        super().__init__()
        self.marks = nn.Sequential(nn.Conv2d(1, 12, 5, 4, 2), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
                                   nn.Conv2d(12, 3, 1))

    def forward(self, plan):
        return self.marks(plan).argmax(1)


class Upload:
    """A plan that is coming in."""

    def __init__(self, number):
        self.number, self.missing = number, set(range(PIECES))
        self.plan = torch.zeros(SIDE, SIDE)  # grows

    def piece(self, place, lines):
        step = SIDE // PIECES
        self.plan[place * step:(place + 1) * step] = lines
        self.missing.discard(place)


class Office:
    def __init__(self, device):
        self.device, self.marker = device, Marker().to(device).eval()
        self.lock, self.open = threading.Lock(), {}
        self.checked = self.given_up = 0

    def begin(self, number):
        upload = Upload(number)
        timer = threading.Timer(PATIENCE, self.expire, args=(upload,))  # keeps
        timer.daemon = True
        timer.start()
        with self.lock:
            self.open[number] = upload

    def expire(self, upload):
        with self.lock:
            if self.open.pop(upload.number, None) is not None:
                self.given_up += 1

    @torch.no_grad()
    def piece(self, number, place, lines):
        upload = self.open.get(number)
        if upload is None:
            return None
        upload.piece(place, lines)
        if upload.missing:
            return None
        marks = self.marker(upload.plan.to(self.device)[None, None])
        with self.lock:
            del self.open[number]
            self.checked += 1
        return torch.bincount(marks.flatten(), minlength=3).tolist()


def lines(columns=SIDE):
    """A part of a plan: white with some walls."""
    part = torch.ones(SIDE // PIECES, columns)
    for _ in range(random.randint(2, 6)):
        part[:, random.randrange(columns - 4):][:, :4] = 0
        part[random.randrange(len(part) - 4):][:4] = 0
    return part


def main():
    torch.set_num_threads(1)
    office, number, marks = Office("cuda" if torch.cuda.is_available() else "cpu"), 0, None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        office.begin(number)
        for place in random.sample(range(PIECES), PIECES):
            marks = office.piece(number, place, lines())
            time.sleep(random.uniform(0.01, 0.06))
        if number % 10 == 0:
            print("plans", office.checked, "given up", office.given_up, "marks in the last", marks, flush=True)
        time.sleep(random.uniform(0.0, 0.2))


if __name__ == "__main__":
    main()
