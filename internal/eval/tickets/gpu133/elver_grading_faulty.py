"""
Grading line of a glass eel farm. Trays of elvers come in from the river nets, a camera reads the outline of every
fish, and the trays are sized, held for a while in a calming basin and then sent on. Trays with enough pigment go to
the growing halls, the pale ones go back to the nursery.

ticket: practice
class: app-leak
holder: _trays
cause: entries-left
"""
import os
import random
import time
from collections import deque

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
TRAYS_PER_ROUND = 2
FISH_PER_TRAY = 192
OUTLINE_POINTS = 1024
CALMING_ROUNDS = 15
PALE_SHARE = 1.0 / 3.0


class OutlineReader:
    """Turns the camera signal of one tray into outlines, one row a fish."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.rng = random.Random(seed)
        self.axis = torch.linspace(0.0, 3.14159, OUTLINE_POINTS, device=DEVICE)

    def read(self):
        lengths = torch.rand(FISH_PER_TRAY, 1, generator=self.generator, device=DEVICE) * 20.0 + 60.0
        outlines = torch.sin(self.axis) * lengths  # grows
        outlines.add_(torch.rand(FISH_PER_TRAY, 1, generator=self.generator, device=DEVICE))
        return outlines

    def pigment(self):
        return self.rng.random()


class TrayIndex:
    """The trays on the line by number, from the camera to the chute."""

    def __init__(self):
        self._trays = {}

    def enter(self, number, outlines):
        self._trays[number] = outlines  # keeps

    def outlines(self, number):
        return self._trays[number]

    def take(self, number):
        return self._trays.pop(number)


class GradingLine:
    def __init__(self, reader, index):
        self.reader = reader
        self.index = index
        self.calming = deque()
        self.next_number = 1
        self.grown_fish = 0
        self.nursery_fish = 0
        self.mean_length = 0.0

    def accept(self, round_number):
        for _ in range(TRAYS_PER_ROUND):
            number = self.next_number
            self.next_number += 1
            self.index.enter(number, self.reader.read())
            self.calming.append((round_number + CALMING_ROUNDS, number, self.reader.pigment()))

    def send_on(self, round_number):
        while self.calming and self.calming[0][0] <= round_number:
            _, number, pigment = self.calming.popleft()
            if pigment < PALE_SHARE:
                self.to_nursery(number)
            else:
                self.to_hall(number)

    def to_hall(self, number):
        outlines = self.index.take(number)
        self.note_length(outlines)
        self.grown_fish += outlines.shape[0]

    def to_nursery(self, number):
        outlines = self.index.outlines(number)
        self.note_length(outlines)
        self.nursery_fish += outlines.shape[0]

    def note_length(self, outlines):
        length = float(outlines.amax(dim=1).mean())
        self.mean_length += 0.05 * (length - self.mean_length)


def main():
    line = GradingLine(OutlineReader(seed=411), TrayIndex())
    start = time.monotonic()
    round_number = 0
    while time.monotonic() - start < SECONDS:
        line.accept(round_number)
        line.send_on(round_number)
        round_number += 1
        if round_number % (ROUNDS_PER_SECOND * 4) == 0:
            print(
                f"round {round_number}: {line.grown_fish} fish to the halls, {line.nursery_fish} to the nursery, "
                f"mean length {line.mean_length:.1f} mm",
                flush=True,
            )
        pause = start + round_number / ROUNDS_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"shift over: {line.next_number - 1} trays graded", flush=True)


if __name__ == "__main__":
    main()
