"""Reading tables of a map room.

Readers lay a transparent overlay over a sheet of the survey: relief shading, a route, a flood line. While a reader sits
at the table the overlay follows the revisions that the cartographers publish for the sheet. Readers come and go all
day, and the sheets stay.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch

torch.set_num_threads(1)
torch.manual_seed(3)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 512
TABLES = 10
ROUNDS_A_SECOND = 6


class Sheet:
    """One sheet: heights, a revision number, and those who want to hear of revisions."""

    def __init__(self, title):
        self.title = title
        self.heights = torch.rand(SIDE, SIDE, device=DEVICE) * 900.0
        self.revision = 0
        self._listeners = []

    def subscribe(self, listener):
        self._listeners.append(listener)

    def unsubscribe(self, listener):
        self._listeners.remove(listener)

    def revise(self, rng):
        """Correct a patch of the heights, and tell everyone who listens."""
        row, column = rng.randrange(SIDE - 64), rng.randrange(SIDE - 64)
        self.heights[row:row + 64, column:column + 64] += rng.uniform(-2.0, 2.0)
        self.revision += 1
        for listener in self._listeners:
            listener(self.revision)


class Overlay:
    """Relief shading of a sheet as one reader wants to see it."""

    def __init__(self, reader, sheet, azimuth):
        self.reader = reader
        self.sheet = sheet
        self.azimuth = azimuth
        self.stale = False
        self.drawn = sheet.revision
        self.shade = torch.empty(SIDE, SIDE, device=DEVICE)
        self.draw()

    def draw(self):
        heights = self.sheet.heights
        east = heights - heights.roll(1, dims=1)
        north = heights - heights.roll(1, dims=0)
        light = torch.tensor(self.azimuth, device=DEVICE)
        torch.sigmoid((east * torch.sin(light) + north * torch.cos(light)) / 80.0, out=self.shade)
        self.stale = False
        self.drawn = self.sheet.revision

    def on_revision(self, revision):
        self.stale = revision > self.drawn

    def brightness(self):
        return float(self.shade.mean())


class ReadingRoom:
    """Seats readers at tables, the one who sat longest leaves first."""

    def __init__(self, titles, seed):
        self.rng = random.Random(seed)
        self.sheets = [Sheet(title) for title in titles]
        self.tables = deque()
        self.readers = 0
        self.left = 0

    def seat(self):
        if len(self.tables) == TABLES:
            self.leave(self.tables.popleft())
        self.readers += 1
        sheet = self.rng.choice(self.sheets)
        overlay = Overlay(self.readers, sheet, self.rng.uniform(0.0, 6.28))
        sheet.subscribe(overlay.on_revision)
        self.tables.append(overlay)

    def leave(self, overlay):
        self.left += 1
        overlay.sheet.unsubscribe(overlay.on_revision)
        overlay.stale = False

    def revise(self):
        self.rng.choice(self.sheets).revise(self.rng)

    def redraw(self):
        """Draw the overlays at the tables anew where the sheet has changed."""
        changed = [overlay for overlay in self.tables if overlay.stale]
        for overlay in changed[:4]:
            overlay.draw()
        return len(changed)


def main():
    room = ReadingRoom(["Upper Fell", "Salt Marsh", "Old Harbour", "Moor Road"], seed=19)
    started = time.monotonic()
    reported = started
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        room.seat()
        room.revise()
        changed = room.redraw()
        if begun - reported > 3.0:
            reported = begun
            light = room.tables[-1].brightness()
            print(f"reader {room.readers}: {changed} overlays redrawn, brightness {light:.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    revisions = sum(sheet.revision for sheet in room.sheets)
    print(f"closing: {room.readers} readers, {revisions} revisions", flush=True)


if __name__ == "__main__":
    main()
