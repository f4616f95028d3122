"""Forecasts of the plucking rounds on a tea plantation.

Weather posts in four sections of the estate send readings of warmth and rain through the season. Several times
a second the office spreads the readings over the sample bushes of each section, so that every bush answers with
its own vigour, and counts how many shoots have come to two leaves and a bud. The sections were planted one
after another and have seasons of different length behind them. The office names the section that should be
plucked next.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""

import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 4
BUSHES = 2048
READINGS_A_ROUND = 6
FIRST_READINGS = 1420
STAGGER = 64
STRIP = 1024
SECTIONS = ("Ridge", "Hollow", "Stream", "Gate")


class Post:
    """A weather post: gives the growing warmth at each reading since the season began."""

    def __init__(self, readings, phase):
        self.readings = readings
        self.phase = phase

    def advance(self, count):
        self.readings += count

    def warmth(self, first, last):
        hours = torch.arange(first, last, device=DEVICE, dtype=torch.float32)
        day = torch.sin(hours * 0.26 + self.phase)
        rain = torch.cos(hours * 0.017 + 2.0 * self.phase)
        return (0.6 + 0.3 * day + 0.1 * rain).clamp_min_(0.0)


class Section:
    """One section of the estate with its sample bushes and its weather post."""

    def __init__(self, name, readings, phase, generator):
        self.name = name
        self.post = Post(readings, phase)
        self.vigour = (0.5 + torch.rand(BUSHES, 1, generator=generator)).to(DEVICE)
        self.threshold = (0.7 + 0.2 * torch.rand(BUSHES, 1, generator=generator)).to(DEVICE)
        self.ripeness = torch.zeros(BUSHES, device=DEVICE)

    def spans(self):
        """The spans of readings that are worked on in one go."""
        return [(0, self.post.readings)]

    def answer(self, first, last):
        """How each bush answers to each reading of the span."""
        sheet = torch.empty(BUSHES, last - first, device=DEVICE)  # grows
        torch.mul(self.vigour, self.post.warmth(first, last), out=sheet)
        sheet.sub_(self.threshold).clamp_(0.0, 1.0)
        return sheet


class Office:
    """Works out the state of all sections side by side."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.sections = [
            Section(name, FIRST_READINGS + number * STAGGER, 0.7 * number, generator)
            for number, name in enumerate(SECTIONS)
        ]
        self.rounds = 0

    def read_posts(self):
        for section in self.sections:
            section.post.advance(READINGS_A_ROUND)

    def work_out(self):
        """Ripeness of each section, all of them laid beside one another for the comparison."""
        pieces = [section.spans() for section in self.sections]
        for section in self.sections:
            section.ripeness.zero_()
        for step in range(max(len(spans) for spans in pieces)):
            sheets = []
            for section, spans in zip(self.sections, pieces):
                if step < len(spans):
                    sheets.append((section, section.answer(*spans[step])))
            level = min(float(sheet[0].mean()) for _, sheet in sheets)
            for section, sheet in sheets:
                section.ripeness += sheet.sum(dim=1) + 0.01 * level
            del sheets, sheet
        self.rounds += 1

    def next_section(self):
        scores = [float((section.ripeness / section.post.readings).mean()) for section in self.sections]
        best = max(range(len(scores)), key=scores.__getitem__)
        return self.sections[best].name, scores[best]


def main():
    office = Office(seed=1823)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        office.read_posts()
        office.work_out()
        if office.rounds % 12 == 0:
            name, score = office.next_section()
            print(f"round {office.rounds}: pluck {name} next, ripeness {score:.3f}", flush=True)
        time.sleep(max(0.02, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - began)))
    name, score = office.next_section()
    print(f"season ends with {name} at {score:.3f} after {office.rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
