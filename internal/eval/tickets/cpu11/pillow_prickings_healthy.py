"""A lace school checks the prickings its pupils pin out on the pillow before the first bobbin is hung.
Every pricking is a lattice of pins; the threads between them are relaxed under their own tension, and the
amount by which the ground is pulled out of true decides its grade. Pieces come in lots of twelve, and at the
close of a lot the teacher gets the mean grade and the part of the pillow where the ground pulled hardest.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np

LOT_SIZE = 12
PINS = 256
PUPILS = ("Aletta", "Berthe", "Clarice", "Doortje", "Eulalie")
GROUNDS = {"torchon": 0.9, "rose": 1.2, "kat stitch": 1.5, "dieppe": 1.1}


@dataclass
class Pricking:
    number: int
    pupil: str
    ground: str
    pins: np.ndarray


@dataclass
class Assessment:
    number: int
    pupil: str
    grade: float
    pull: np.ndarray

    @property
    def worst_quarter(self):
        half = PINS // 2
        quarters = {
            "upper left": self.pull[:half, :half],
            "upper right": self.pull[:half, half:],
            "lower left": self.pull[half:, :half],
            "lower right": self.pull[half:, half:],
        }
        return max(quarters, key=lambda name: quarters[name].mean())


class PrickingRoom:
    """Draws the pins as the pupils set them, with each hand's own unsteadiness."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.steadiness = {pupil: 0.6 + 0.2 * k for k, pupil in enumerate(PUPILS)}
        self.models = {name: self._model(stretch) for name, stretch in GROUNDS.items()}
        self.count = 0

    def _model(self, stretch):
        rows, columns = np.mgrid[0:PINS, 0:PINS]
        return np.sin(rows * stretch / 9.0) + np.cos(columns * stretch / 7.0)

    def next_piece(self):
        self.count += 1
        pupil = PUPILS[self.count % len(PUPILS)]
        ground = list(GROUNDS)[int(self.rng.integers(len(GROUNDS)))]
        wobble = self.rng.normal(0.0, self.steadiness[pupil], (PINS, PINS))
        return Pricking(self.count, pupil, ground, self.models[ground] + wobble)


class Assessor:
    """Relaxes the threads of one pricking and keeps the book of the present lot."""

    def __init__(self, room):
        self.room = room
        self.results = []
        self.lots = 0
        self.lot_means = np.zeros(8)

    def relax(self, pins, passes=4):
        slack = pins.copy()
        for _ in range(passes):
            inner = slack[:-2, 1:-1] + slack[2:, 1:-1] + slack[1:-1, :-2] + slack[1:-1, 2:]
            slack[1:-1, 1:-1] = 0.5 * slack[1:-1, 1:-1] + 0.125 * inner
        return slack

    def assess(self, piece):
        settled = self.relax(piece.pins)
        pull = np.abs(settled - self.room.models[piece.ground])
        grade = float(10.0 * np.exp(-pull.mean()))
        assessment = Assessment(piece.number, piece.pupil, grade, pull)
        self.results.append(assessment)
        return assessment

    def lot_complete(self, piece):
        return piece.number % LOT_SIZE == 0

    def close_lot(self):
        lot, self.results = self.results, []
        mean = sum(a.grade for a in lot) / len(lot)
        self.lot_means[self.lots % len(self.lot_means)] = mean
        self.lots += 1
        weakest = min(lot, key=lambda a: a.grade)
        return mean, weakest


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    room = PrickingRoom(seed=1843)
    assessor = Assessor(room)
    started = time.monotonic()
    spoken = started
    while time.monotonic() - started < seconds:
        for _ in range(2):
            piece = room.next_piece()
            assessor.assess(piece)
            if assessor.lot_complete(piece):
                mean, weakest = assessor.close_lot()
        if time.monotonic() - spoken > 2.0 and assessor.lots:
            spoken = time.monotonic()
            print(f"lot {assessor.lots}: mean grade {mean:.2f}, weakest {weakest.pupil} "
                  f"({weakest.grade:.2f}, {weakest.worst_quarter})", flush=True)
        time.sleep(0.16)
    print(f"{room.count} prickings in {assessor.lots} lots, best lot {assessor.lot_means.max():.2f}", flush=True)


if __name__ == "__main__":
    main()
