"""Label engraving for a web atlas.

Map views arrive from readers; every view shows a handful of place names of the gazetteer, each laid along the
river or ridge it belongs to. A name is engraved as a small coverage bitmap with a halo, sheared to its baseline,
and stamped into the sheet. Views come again and again with the same names at the same zoom.

ticket: practice
class: none
"""
import math
import os
import random
import time

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
LABELS_PER_VIEW = 52
ZOOMS = (9, 11)
BASELINE_STEP = 12.0
ROWS = 52
COLUMNS = 144

PLACES = (
    "Aldmoor", "Bracken Fell", "Crayford", "Dunwick", "Eskdale", "Farrow Hythe", "Gilling", "Hazelmere",
    "Inver Tarn", "Jarrow Head", "Kelder", "Lowick", "Marrick", "Netherby", "Oxenhope", "Pendle Rise",
)


class Typeface:
    """Strokes of each letter as rows of ink, thickened for the halo."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.letters = {}
        for code in range(32, 123):
            self.letters[chr(code)] = [bytes(rng.choices((0, 96, 255), k=9)) for _ in range(14)]
        self.halo = bytes(min(255, value + 48) for value in range(256))

    def line(self, text, row):
        return b"".join(self.letters[letter][row] for letter in text)


class Feature:
    """A named river, ridge or town and the bearing of the line its name follows."""

    def __init__(self, name, rng):
        self.name = name
        self.bearing = rng.uniform(-30.0, 30.0)
        self.swing = rng.uniform(8.0, 20.0)

    def baseline(self, position):
        """Angle of the line, in degrees, where the view cuts it."""
        return self.bearing + self.swing * math.sin(position)


class Engraver:
    def __init__(self, typeface):
        self.typeface = typeface
        self._engraved = {}
        self.asked = 0
        self.drawn = 0

    def engrave(self, name, zoom, angle):
        size = 2 if zoom > 10 else 1
        shear = math.tan(math.radians(angle)) * 0.5
        plate = bytearray(ROWS * COLUMNS)
        for row in range(14 * size):
            ink = self.typeface.line(name, row // size)[:COLUMNS - 40]
            left = 20 + int(shear * (row - 7 * size))
            left = max(0, min(left, COLUMNS - len(ink)))
            start = (row + 8) * COLUMNS + left
            plate[start:start + len(ink)] = ink
            glow = ink.translate(self.typeface.halo)
            below = start + 20 * COLUMNS
            if below + len(glow) <= len(plate) and row % 3 == 0:
                plate[below:below + len(glow)] = glow
        self.drawn += 1
        return plate

    def label(self, name, zoom, angle):
        self.asked += 1
        snapped = BASELINE_STEP * round(angle / BASELINE_STEP)
        key = (name, zoom, snapped)
        plate = self._engraved.get(key)
        if plate is None:
            plate = self._engraved[key] = self.engrave(name, zoom, snapped)
        return plate


class Sheet:
    """The raster the labels of one view are stamped into."""

    def __init__(self, width, height):
        self.width = width
        self.height = height
        self.raster = bytearray(width * height)

    def stamp(self, plate, left, top):
        for row in range(0, ROWS, 4):
            start = (top + row) * self.width + left
            self.raster[start:start + COLUMNS] = plate[row * COLUMNS:(row + 1) * COLUMNS]

    def coverage(self):
        return 1.0 - self.raster.count(0) / len(self.raster)

    def wipe(self):
        self.raster[:] = bytes(len(self.raster))


def serve_view(rng, features, engraver, sheet):
    zoom = rng.choice(ZOOMS)
    sheet.wipe()
    for _ in range(LABELS_PER_VIEW):
        feature = rng.choice(features)
        plate = engraver.label(feature.name, zoom, feature.baseline(rng.uniform(0.0, 2.0 * math.pi)))
        sheet.stamp(plate, rng.randrange(sheet.width - COLUMNS), rng.randrange(sheet.height - ROWS))
    return sheet.coverage()


def main():
    rng = random.Random(40)
    engraver = Engraver(Typeface(seed=5))
    features = [Feature(name, rng) for name in PLACES]
    sheet = Sheet(1600, 1000)
    started = time.monotonic()
    report_due = started + 2.0
    views = 0
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        coverage = serve_view(rng, features, engraver, sheet)
        views += 1
        if time.monotonic() >= report_due:
            print(f"views {views}, labels {engraver.asked}, engraved {engraver.drawn}, ink {coverage:.3f}", flush=True)
            report_due += 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - round_start)))
    print(f"atlas closed: {views} views, {engraver.asked} labels", flush=True)


if __name__ == "__main__":
    main()
