"""Imposition of book pages onto the large sheets of a perfecting press.

Every sheet carries eight pages in two rows. A page is screened into halftone for its place on the sheet, where creep
and fold shift it a little, and its place depends on the sheet it lies on. The finished sheets go to the plate setter,
which wants them at an even pace and measures the ink that each of them needs.

ticket: practice
class: none
"""
import gc
import os
import time
import weakref

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
SHEETS_PER_SECOND = 6
PAGES_ON_SHEET = 8
PAGE_HEIGHT, PAGE_WIDTH = 420, 300
ORDER = (8, 1, 5, 4, 7, 2, 6, 3)


class Manuscript:
    """Continuous-tone masters of the pages, from which all signatures are drawn."""

    def __init__(self, rng, masters=60):
        self.tones = rng.random((masters, PAGE_HEIGHT, PAGE_WIDTH), dtype=np.float32)

    def page(self, folio):
        return self.tones[folio % len(self.tones)]


class Screen:
    """Threshold matrix of the halftone, one angle for all pages."""

    def __init__(self, pitch=6):
        rows, columns = np.mgrid[0:PAGE_HEIGHT, 0:PAGE_WIDTH].astype(np.float32)
        wave = np.cos((rows + columns) * np.pi / pitch) + np.cos((rows - columns) * np.pi / pitch)
        self.threshold = (wave + 2.0) / 4.0

    def apply(self, tone, shift):
        dots = np.roll(tone, shift, axis=1) > self.threshold
        return dots.astype(np.uint8)


class Panel:
    """One page in its place on a sheet."""

    def __init__(self, sheet, place, folio):
        self._sheet = weakref.proxy(sheet)
        self.place = place
        self.folio = folio
        self.dots = None

    def creep(self):
        inner = self.place % 4 in (1, 2)
        return self._sheet.thickness * (1 if inner else -1)

    def expose(self, manuscript, screen):
        self.dots = screen.apply(manuscript.page(self.folio), self.creep())

    def coverage(self):
        return float(self.dots.mean())


class Sheet:
    def __init__(self, number, first_folio, thickness):
        self.number = number
        self.thickness = thickness
        self.panels = []
        for place, offset in enumerate(ORDER):
            self.panels.append(Panel(self, place, first_folio + offset - 1))

    def expose(self, manuscript, screen):
        for panel in self.panels:
            panel.expose(manuscript, screen)

    def row(self, upper):
        chosen = self.panels[:4] if upper else self.panels[4:]
        return np.concatenate([panel.dots for panel in chosen], axis=1)

    def coverage(self):
        return sum(panel.coverage() for panel in self.panels) / len(self.panels)


class PlateSetter:
    """Takes the sheets one by one and sums up the ink along the keys."""

    def __init__(self, keys=24):
        self.ink = np.zeros(keys)
        self.plates = 0

    def burn(self, sheet):
        for upper in (True, False):
            columns = sheet.row(upper).mean(axis=0)
            self.ink += columns.reshape(len(self.ink), -1).mean(axis=1)
            self.plates += 1
        return sheet.coverage()


def impose(number, manuscript, screen, setter, rng):
    sheet = Sheet(number, number * PAGES_ON_SHEET, int(rng.integers(1, 5)))
    sheet.expose(manuscript, screen)
    return setter.burn(sheet)


def main():
    gc.disable()
    rng = np.random.default_rng(79)
    manuscript = Manuscript(rng)
    screen = Screen()
    setter = PlateSetter()
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    number, coverage = 0, 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        coverage = impose(number, manuscript, screen, setter, rng)
        number += 1
        if time.monotonic() >= report_at:
            print(f"sheet {number}: coverage {coverage:.3f}, {setter.plates} plates", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / SHEETS_PER_SECOND - (time.monotonic() - began)))
    print(f"book imposed: {number} sheets, {setter.plates} plates, ink {setter.ink.mean():.2f}", flush=True)


if __name__ == "__main__":
    main()
