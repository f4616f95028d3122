"""A drawing programme for bobbin lace shows how a plait of four threads looks in a given linen before a piece is begun.
The thickness of the thread and the twist come from a gauge at the bench and alter a little with the damp of the room.
Rendering one plait takes a while, so the finished tiles are laid by and used again for the many plaits of a sheet
that come out the same.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np

TILE = 200
STYLES = {"bedfordshire": 2, "cluny": 3, "genoese": 2, "maltese": 4}
SHEET = (760, 1000)


@dataclass(frozen=True)
class Thread:
    style: str
    thickness: float
    twist: int


class Bench:
    """The gauge on which the thread is measured, and the damp that changes it."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.damp = 0.5

    def measure(self):
        self.damp = float(0.3 * self.damp + 0.7 * self.rng.random())
        style = list(STYLES)[int(self.rng.integers(len(STYLES)))]
        thickness = 0.30 + 0.10 * self.damp
        return Thread(style, thickness, STYLES[style])


class PlaitRenderer:
    def __init__(self):
        self._tiles = {}
        self.drawn = 0
        self.asked = 0
        rows, columns = np.mgrid[0:TILE, 0:TILE] / TILE
        self.rows = rows
        self.columns = columns

    def key_for(self, thread):
        return thread.style, thread.twist, round(20 * thread.thickness) / 20

    def draw(self, style, twist, thickness):
        phase = 0.7 * list(STYLES).index(style)
        tile = np.zeros((TILE, TILE))
        for strand in range(4):
            middle = 0.5 + 0.25 * np.sin(2 * np.pi * (twist * self.rows + strand / 4.0) + phase)
            distance = np.abs(self.columns - middle) / (0.25 * thickness)
            np.maximum(tile, np.exp(-distance * distance), out=tile)
        self.drawn += 1
        return tile

    def plait(self, thread):
        self.asked += 1
        key = self.key_for(thread)
        tile = self._tiles.get(key)
        if tile is None:
            tile = self._tiles[key] = self.draw(*key)
        return tile

    def share_reused(self):
        return 1.0 - self.drawn / max(1, self.asked)


class Sheet:
    """The sheet on which the plaits are set out, from edge to edge and over again."""

    def __init__(self):
        self.paper = np.ones(SHEET)
        self.places = [(top, left) for top in range(0, SHEET[0] - TILE, 140)
                       for left in range(0, SHEET[1] - TILE, 160)]
        self.placed = 0

    def lay(self, tile, shade):
        top, left = self.places[self.placed % len(self.places)]
        window = self.paper[top:top + TILE, left:left + TILE]
        window *= 1.0 - shade * tile
        np.clip(window + 0.05, 0.0, 1.0, out=window)
        self.placed += 1

    def cover(self):
        return float(1.0 - self.paper.mean())


class DrawingRoom:
    def __init__(self, seed):
        self.bench = Bench(seed)
        self.renderer = PlaitRenderer()
        self.sheet = Sheet()

    def set_out(self, count):
        for _ in range(count):
            thread = self.bench.measure()
            tile = self.renderer.plait(thread)
            self.sheet.lay(tile, shade=0.4 + 0.2 * self.bench.damp)
        return thread


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    room = DrawingRoom(seed=1895)
    started = spoken = time.monotonic()
    while time.monotonic() - started < seconds:
        thread = room.set_out(count=3)
        if time.monotonic() - spoken > 2.0:
            spoken = time.monotonic()
            print(f"{room.sheet.placed} plaits set out, last {thread.style} at {thread.thickness:.3f} mm, "
                  f"cover {room.sheet.cover():.2f}, reused {100 * room.renderer.share_reused():.0f} %", flush=True)
        time.sleep(0.13)
    print(f"sheet finished: {room.sheet.placed} plaits, cover {room.sheet.cover():.2f}", flush=True)


if __name__ == "__main__":
    main()
