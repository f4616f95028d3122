"""Cupping tables in the tasting room of a tea plantation.

Every lot of the day is brewed in a row of cups. A spectrometer above the table reads the liquor of each cup
while it draws, and the program fits the colour, the briskness and the body of the tea to those curves. The
table is rinsed after a lot, and the room hands the grades to the auction clerk. The tasting room is opened in
the morning and closed at the end of the day.

ticket: practice
class: app-leak
holder: _closing
cause: registered-for-the-end
"""

import os
import time
from collections import Counter
from contextlib import ExitStack

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LOTS_A_SECOND = 5
CUPS = 24
READINGS = 64
BANDS = 256
GRADES = ("dust", "fannings", "broken", "orange pekoe", "golden tips")


class Spectrometer:
    """Reads the light that comes through each cup, band by band."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.bands = torch.linspace(0.0, 1.0, BANDS, device=DEVICE)
        self.minutes = torch.linspace(0.1, 6.0, READINGS, device=DEVICE)
        self.lamp = True

    def read(self):
        strength = (0.2 + 0.8 * torch.rand(CUPS, 1, 1, generator=self.generator)).to(DEVICE)
        absorbed = torch.exp(-4.0 * self.bands).reshape(1, 1, BANDS)
        drawn = 1.0 - torch.exp(-0.7 * self.minutes).reshape(1, READINGS, 1)
        return strength * drawn * absorbed  # grows

    def switch_off(self):
        self.lamp = False


class Table:
    """The row of cups with the liquor that is on it just now."""

    def __init__(self, number):
        self.number = number
        self.rinses = 0
        self.last_body = 0.0

    def rinse(self, curves):
        self.last_body = float(curves[:, -1].mean())
        self.rinses += 1


class Palate:
    """Three scales, fitted by least squares to the curves of a lot."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.scales = (torch.rand(BANDS, 3, generator=generator) / BANDS).to(DEVICE)

    def taste(self, curves):
        final = curves[:, -1] @ self.scales
        early = curves[:, READINGS // 4] @ self.scales
        return torch.cat((final.mean(dim=0), early.mean(dim=0)))


class TastingRoom:
    """Runs the tables by turns through the day."""

    def __init__(self, seed, tables=2):
        self._closing = ExitStack()
        self.spectrometer = Spectrometer(seed)
        self.palate = Palate(seed + 1)
        self.tables = [Table(number) for number in range(tables)]
        self.grades = Counter()
        self.lots = 0

    def __enter__(self):
        self._closing.callback(self.spectrometer.switch_off)
        return self

    def __exit__(self, *failure):
        return self._closing.__exit__(*failure)

    def taste_lot(self):
        table = self.tables[self.lots % len(self.tables)]
        self.lots += 1
        curves = self.spectrometer.read()
        self._closing.callback(table.rinse, curves)  # keeps
        notes = self.palate.taste(curves)
        grade = self.grade(notes)
        self.grades[grade] += 1
        return grade

    def grade(self, notes):
        briskness = float(notes[:3].sum() - notes[3:].sum())
        place = min(len(GRADES) - 1, max(0, int(briskness * 60.0)))
        return GRADES[place]


def main():
    with TastingRoom(seed=1839) as room:
        start = time.monotonic()
        while time.monotonic() - start < SECONDS:
            grade = room.taste_lot()
            if room.lots % 15 == 0:
                print(f"lot {room.lots}: {grade}", flush=True)
            time.sleep(1.0 / LOTS_A_SECOND)
    best = room.grades.most_common(1)[0][0]
    rinses = sum(table.rinses for table in room.tables)
    print(f"{room.lots} lots tasted, mostly {best}, {rinses} rinses", flush=True)


if __name__ == "__main__":
    main()
