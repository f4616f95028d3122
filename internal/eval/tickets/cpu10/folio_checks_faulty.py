"""Checks of digital folios in a sheet music library.

Volunteers type in old part books, one note a line. Each folio is parsed, cut into bars and compared with the metre
on its title; what does not fit is put on the report of the day for the librarian.

ticket: practice
class: host-growth
holder: failures Report
cause: exception-kept
"""
import collections
import os
import random
import time
from fractions import Fraction

PITCHES = "C D E F G A B".split()
LENGTHS = (("1/4",) * 4, ("1/2", "1/4", "1/4"), ("1/2", "1/2"), ("1/8",) * 8)
KNOWN_LENGTHS = {text: Fraction(text) for text in ("1/2", "1/4", "1/8", "3/8")}
BARS = 1900
DAMAGED = 0.6
FOLIOS_A_SECOND = 10


class MetreError(ValueError):
    """A bar with too many or too few beats."""


class FolioError(Exception):
    """What the librarian reads."""


class TypingDesk:
    """Makes folios as the volunteers hand them in."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.number = 0

    def bar(self):
        octave = self.rng.randint(2, 6)
        return [f"{self.rng.choice(PITCHES)} {octave} {length}" for length in self.rng.choice(LENGTHS)]

    def folio(self):
        self.number += 1
        lines = []
        for _ in range(BARS):
            lines.extend(self.bar())
        if self.rng.random() < DAMAGED:
            spot = len(lines) - self.rng.randint(1, 200)
            lines[spot] = self.rng.choice(("H 4 1/4", "C 4 3/8", "C four 1/4"))
        return f"folio-{self.number:05d}", "\n".join(lines)


def parse_note(line):
    pitch, octave, length = line.split()
    return 12 * int(octave) + 2 * PITCHES.index(pitch), pitch, KNOWN_LENGTHS[length]


def parse_notes(text):
    notes = []
    for place, line in enumerate(text.splitlines()):
        notes.append((place, line) + parse_note(line))  # grows
    return notes


def check_bars(notes):
    """Goes through the notes and closes a bar at each full measure."""
    eighths = 0
    bars = 0
    for _, _, _, _, length in notes:
        eighths += 8 * length.numerator // length.denominator
        if eighths > 8:
            raise MetreError("bar too long")
        if eighths == 8:
            eighths = 0
            bars += 1
    if eighths:
        raise MetreError("last bar is not full")
    return bars


def check_folio(text):
    try:
        notes = parse_notes(text)
        return check_bars(notes)
    except MetreError:
        raise FolioError("metre")
    except ValueError:
        raise FolioError("unreadable note")


class Report:
    """What was found in the folios of the day."""

    def __init__(self):
        self.failures = []
        self.passed = 0
        self.bars = 0

    def check(self, text):
        try:
            self.bars += check_folio(text)
            self.passed += 1
        except FolioError as error:
            self.failures.append(error)  # keeps

    def summary(self):
        reasons = collections.Counter(str(error) for error in self.failures)
        listed = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        return f"{self.passed} passed with {self.bars} bars; {listed or 'none failed'}"


def main():
    start = time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    desk, report = TypingDesk(seed=44), Report()
    for name, text in iter(desk.folio, None):
        report.check(text)
        if desk.number % (2 * FOLIOS_A_SECOND) == 0:
            print(f"{name}: {report.summary()}", flush=True)
        time.sleep(max(0.0, start + desk.number / FOLIOS_A_SECOND - time.time()))
        if time.time() >= end:
            break
    print(f"day closed: {report.summary()}", flush=True)


if __name__ == "__main__":
    main()
