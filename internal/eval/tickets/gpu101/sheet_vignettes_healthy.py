"""Digitisation of herbarium sheets.

Specimens are photographed on a light table and cut out along the edge of what is mounted, so that the pictures
come in many sizes. Each cut-out is flattened: the fall of light towards the rim is divided out, the paper is
brought to white, and the share of leaf on it is measured for the catalogue.

ticket: practice
class: none
"""
import os
import random
import time
from collections import defaultdict

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 6
ROWS, COLUMNS = 1200, 800
SIZES_AT_HAND = 16
GENERA = ("Carex", "Salix", "Hieracium", "Rubus", "Alchemilla", "Taraxacum", "Euphrasia")


class LightTable:
    """Photographs a sheet; the lamps are weaker towards the rim."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.sheets = torch.rand(10, ROWS, COLUMNS, generator=self.generator, device=DEVICE)
        for sheet in self.sheets:
            sheet.mul_(0.1).add_(0.85)
            for _ in range(40):
                self._press_leaf(sheet)

    def _press_leaf(self, sheet):
        top = int(torch.randint(ROWS - 120, (1,), generator=self.generator, device=DEVICE))
        left = int(torch.randint(COLUMNS - 60, (1,), generator=self.generator, device=DEVICE))
        sheet[top:top + 120, left:left + 60] *= 0.4

    def photograph(self, number, rows, columns):
        sheet = self.sheets[number % len(self.sheets)]
        top, left = (ROWS - rows) // 2, (COLUMNS - columns) // 2
        return sheet[top:top + rows, left:left + columns]


class Flattener:
    """Divides out the fall of light over a picture of a given size."""

    def __init__(self, strength=0.35):
        self.strength = strength
        self._vignettes = {}

    def vignette(self, rows, columns):
        size = (rows, columns)
        if size in self._vignettes:
            return self._vignettes[size]
        down = torch.linspace(-1, 1, rows, device=DEVICE).square().unsqueeze(1)
        across = torch.linspace(-1, 1, columns, device=DEVICE).square()
        field = 1 - self.strength * (down + across) / 2
        if len(self._vignettes) >= SIZES_AT_HAND:
            self._vignettes.pop(next(iter(self._vignettes)))
        self._vignettes[size] = field
        return field

    def flatten(self, picture):
        field = self.vignette(*picture.shape)
        even = picture / field
        white = even.flatten()[::97].quantile(0.9)
        return (even / white).clamp(max=1.0)


class Catalogue:
    """The measures of each genus, as running means."""

    def __init__(self):
        self.count = defaultdict(int)
        self.leaf = defaultdict(float)

    def enter(self, genus, share):
        self.count[genus] += 1
        self.leaf[genus] += (share - self.leaf[genus]) / self.count[genus]

    def line(self):
        fullest = max(self.leaf, key=self.leaf.get)
        return f"{sum(self.count.values())} sheets, fullest genus {fullest} ({self.leaf[fullest]:.3f} leaf)"


class Studio:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.table = LightTable(seed)
        self.flattener = Flattener()
        self.catalogue = Catalogue()

    def cut(self):
        return self.random.randint(500, ROWS - 100), self.random.randint(300, COLUMNS - 80)

    def digitise(self, number):
        genus = self.random.choice(GENERA)
        rows, columns = self.cut()
        for side in range(2):
            picture = self.table.photograph(number + side, rows, columns)
            flat = self.flattener.flatten(picture)
            self.catalogue.enter(genus, (flat < 0.6).float().mean().item())


def main():
    studio = Studio(seed=1735)
    started = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        studio.digitise(number)
        if number % 18 == 0:
            print(f"folder {number:4d}  {studio.catalogue.line()}", flush=True)
        number += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    print(f"studio closed: {studio.catalogue.line()}", flush=True)


if __name__ == "__main__":
    main()
