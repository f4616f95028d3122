"""Hot box detectors on the lead tracks of a freight yard.

Infrared scanners beside the track take a picture of every axle box that rolls past. A small network gives each box a
grade of heat, the pictures go into a ledger together with the grade, and the yard office asks the ledger for the
warmest boxes among the latest passages and for the picture of the warmest one.

ticket: practice
class: host-growth
holder: _ledger
cause: database-in-memory
"""
import os
import sqlite3
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
PASSAGES_A_SECOND = 7.0
AXLES = 24
HEIGHT, WIDTH = 96, 256
LATEST = 16

SCHEMA = """
CREATE TABLE boxes (
    passage INTEGER NOT NULL,
    axle INTEGER NOT NULL,
    grade REAL NOT NULL,
    picture BLOB NOT NULL,
    PRIMARY KEY (passage, axle)
)
"""


class HeatGrader(nn.Module):
    """Pictures of axle boxes in, one grade between 0 and 1 out."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, stride=4), nn.ReLU(),
            nn.Conv2d(6, 12, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
        )
        self.grade = nn.Linear(12 * 16, 1)

    @torch.inference_mode()
    def forward(self, pictures):
        scaled = pictures.to(DEVICE).float().div(255.0).unsqueeze(1)
        return torch.sigmoid(self.grade(self.features(scaled).flatten(1))).squeeze(1).cpu()


class Scanner:
    """Takes the pictures of one passage: warm bearings on a cold ground."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        rows = np.linspace(-1.0, 1.0, HEIGHT, dtype=np.float32)[:, None]
        columns = np.linspace(-2.0, 2.0, WIDTH, dtype=np.float32)[None, :]
        self._spot = np.exp(-4.0 * (rows ** 2 + columns ** 2))

    def passage(self):
        heat = self._random.gamma(2.0, 20.0, size=(AXLES, 1, 1)).astype(np.float32)
        ground = self._random.integers(10, 40, size=(AXLES, HEIGHT, WIDTH), dtype=np.uint8)
        return np.clip(ground + heat * self._spot, 0, 255).astype(np.uint8)


class HeatLedger:
    """Boxes by passage and axle, for the questions of the yard office."""

    def __init__(self):
        self._ledger = sqlite3.connect(":memory:")
        self._ledger.execute(SCHEMA)

    def enter(self, passage, pictures, grades):
        rows = [
            (passage, axle, float(grades[axle]), pictures[axle].tobytes())
            for axle in range(len(pictures))
        ]
        with self._ledger:
            self._ledger.executemany("INSERT INTO boxes VALUES (?, ?, ?, ?)", rows)  # grows keeps

    def warmest(self, passage, count):
        return self._ledger.execute(
            "SELECT passage, axle, grade FROM boxes WHERE passage > ? ORDER BY grade DESC LIMIT ?",
            (passage - LATEST, count),
        ).fetchall()

    def picture(self, passage, axle):
        (blob,) = self._ledger.execute(
            "SELECT picture FROM boxes WHERE passage = ? AND axle = ?", (passage, axle)
        ).fetchone()
        return np.frombuffer(blob, dtype=np.uint8).reshape(HEIGHT, WIDTH)

    def close(self):
        self._ledger.close()


def print_warmest(ledger, passage):
    boxes = ledger.warmest(passage, 3)
    peak = int(ledger.picture(*boxes[0][:2]).max())
    figures = ", ".join(f"{number}/{axle} {grade:.4f}" for number, axle, grade in boxes)
    print(f"passage {passage:4d}: warmest {figures}, peak {peak}", flush=True)


def main():
    torch.manual_seed(1964)
    grader = HeatGrader().to(DEVICE).eval()
    scanner = Scanner(seed=31)
    ledger = HeatLedger()
    passage = 0
    end = time.monotonic() + SECONDS
    next_line = time.monotonic() + 2.0
    while time.monotonic() < end:
        began = time.monotonic()
        passage += 1
        pictures = scanner.passage()
        grades = grader(torch.from_numpy(pictures))
        ledger.enter(passage, pictures, grades)
        if began >= next_line:
            print_warmest(ledger, passage)
            next_line += 2.0
        time.sleep(max(0.0, 1.0 / PASSAGES_A_SECOND - (time.monotonic() - began)))
    ledger.close()
    print(f"shift over after {passage} passages", flush=True)


if __name__ == "__main__":
    main()
