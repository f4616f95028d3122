"""An icebreaker's radar is laid out as a mosaic along the track that she has made good.

The sweep of every round is added to the ship's library of floe textures. The mosaic of the whole track is then drawn
afresh on a canvas, shaded by the ice concentration, and read for open leads; only the figures of the leads go to the
officer of the watch.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 4
WIDTH = 1024
TILE_ROWS = 512
TEXTURES = 12
FIRST_ROWS = 10 * 1024
ROWS_PER_ROUND = 32
TRACK_ROWS = 28 * 1024


@dataclass
class Lead:
    share: float
    nearest_row: int


class TextureLibrary:
    """The last looks of floes, each refreshed in turn by the sweeps."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.textures = torch.rand(TEXTURES, TILE_ROWS, WIDTH, device=DEVICE, generator=self.generator)
        self.sweeps = 0

    def refresh(self, concentration):
        texture = self.textures[self.sweeps % TEXTURES]
        texture.uniform_(generator=self.generator)
        texture.mul_(concentration)
        self.sweeps += 1

    def pick(self, number):
        return self.textures[number % TEXTURES]


class Ship:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rows = FIRST_ROWS
        self.concentration = 0.8

    def advance(self):
        self.rows = min(TRACK_ROWS, self.rows + ROWS_PER_ROUND)
        drift = self.random.gauss(0.0, 0.03)
        self.concentration = min(1.0, max(0.4, self.concentration + drift))


class Mosaic:
    def __init__(self, library):
        self.library = library
        self.shade = torch.linspace(0.8, 1.0, WIDTH, device=DEVICE)

    def draw(self, rows):
        canvas = torch.empty(TRACK_ROWS, WIDTH, device=DEVICE)[:rows]
        for number, top in enumerate(range(0, rows, TILE_ROWS)):
            strip = canvas[top:top + TILE_ROWS]
            strip.copy_(self.library.pick(number)[:len(strip)])
        canvas.mul_(self.shade)
        return canvas


class LeadFinder:
    """Rows of the mosaic whose ice is thin all the way across."""

    def __init__(self, threshold=0.36):
        self.threshold = threshold

    def find(self, canvas):
        rows = canvas.mean(dim=1)
        open_rows = (rows < self.threshold).nonzero().flatten()
        share = len(open_rows) / len(rows)
        nearest = int(open_rows[-1]) if len(open_rows) else -1
        return Lead(share, nearest)


class Watch:
    def __init__(self, seed):
        self.ship = Ship(seed)
        self.library = TextureLibrary(seed + 1)
        self.mosaic = Mosaic(self.library)
        self.finder = LeadFinder()
        self.lead = Lead(0.0, -1)

    def step(self):
        self.ship.advance()
        self.library.refresh(self.ship.concentration)
        canvas = self.mosaic.draw(self.ship.rows)
        self.lead = self.finder.find(canvas)


def main():
    torch.set_num_threads(1)
    watch = Watch(seed=71)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        watch.step()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"sweep {rounds}: concentration {watch.ship.concentration:.2f}, leads {watch.lead.share:.1%}, "
                  f"nearest at row {watch.lead.nearest_row}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"watch over after {rounds} sweeps", flush=True)


if __name__ == "__main__":
    main()
