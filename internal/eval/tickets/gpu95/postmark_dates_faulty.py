"""Reads the dates of postmarks in a letter centre.

A chain of generators: trays of letters come from the conveyor, the corner with the postmark is cut out and put
upright, a network reads day, month and year from it, and the journal sends what was read to the track-and-trace
service as a stream of pickles. The cut-outs go with the reading as far as the journal, where doubtful ones are read
a second time at double the contrast; only date and certainty are sent.

    ticket: practice
    class: app-leak
    holder: pickler memo
    cause: pickler-memo-kept
"""
import io
import os
import pickle
import time
import zlib

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TRAY = 12
SIDE = 192
TRAYS_PER_SECOND = 5
DAYS, MONTHS, YEARS = 31, 12, 10


class DateReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(8, 24, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.heads = nn.ModuleList(nn.Linear(24 * 16, size) for size in (DAYS, MONTHS, YEARS))

    def forward(self, marks):
        features = self.trunk(marks)
        return [head(features).softmax(dim=1) for head in self.heads]


class Reading:
    """One tray: the cut-outs, and the date and certainty of each letter."""

    def __init__(self, tray, marks, dates, certainty):
        self.tray = tray
        self.marks = marks
        self.dates = dates
        self.certainty = certainty

    def __getstate__(self):
        return {"tray": self.tray, "dates": self.dates, "certainty": self.certainty}


class Journal:
    """Frames the readings for the wire."""

    def __init__(self):
        self.wire = io.BytesIO()
        self.pickler = pickle.Pickler(self.wire, protocol=5)
        self.sent = 0
        self.check = 0

    def send(self, reading):
        self.pickler.dump(reading)  # keeps
        packet = self.wire.getvalue()
        self.wire.seek(0)
        self.wire.truncate()
        self.sent += len(packet)
        self.check = zlib.crc32(packet, self.check)


def conveyor(end):
    tray = 0
    while time.time() < end:
        began = time.time()
        letters = torch.rand(TRAY, 1, 288, 384, device=DEVICE)
        yield tray, letters
        tray += 1
        time.sleep(max(0.0, 1.0 / TRAYS_PER_SECOND - (time.time() - began)))


def cut_out(trays):
    for tray, letters in trays:
        corner = letters[:, :, 24:24 + SIDE, -SIDE - 24:-24]
        turned = torch.rot90(corner, k=tray % 4, dims=(2, 3))
        marks = turned.sub(0.5).clamp_(-0.4, 0.4).contiguous()  # grows
        yield tray, marks


def read(reader, trays):
    for tray, marks in trays:
        with torch.no_grad():
            tables = reader(marks)
        best = [table.max(dim=1) for table in tables]
        certainty = torch.stack([values for values, _ in best]).prod(dim=0)
        dates = torch.stack([indices for _, indices in best], dim=1) + 1
        yield Reading(tray, marks, [tuple(date) for date in dates.tolist()], certainty.tolist())


def second_look(reader, reading):
    middle = sum(reading.certainty) / len(reading.certainty)
    doubtful = [place for place, value in enumerate(reading.certainty) if value < middle]
    if doubtful:
        with torch.no_grad():
            day = reader(reading.marks[doubtful] * 2.0)[0]
        for place, number in zip(doubtful, day.argmax(dim=1).tolist()):
            reading.dates[place] = (number + 1,) + reading.dates[place][1:]
    return len(doubtful)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(1840)
    reader = DateReader().to(DEVICE).eval()
    journal = Journal()
    doubts = 0
    for reading in read(reader, cut_out(conveyor(end))):
        doubts += second_look(reader, reading)
        journal.send(reading)
        if reading.tray % 15 == 14:
            print(f"tray {reading.tray}: {doubts} doubtful, {journal.sent} bytes, {journal.check:08x}", flush=True)


if __name__ == "__main__":
    main()
