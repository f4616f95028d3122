"""Shadows of the kites on a festival meadow.

The jury of a kite festival wants to know how much of the meadow lies in shade, and sells the places in the sun. For
every kite the outline of the sail is turned by the wind, tilted by the gust, and drawn as a soft mask; masks that
have been drawn before are taken from the store of masks. The masks are laid on the meadow at the place of the kite.

ticket: practice
class: none
"""
import math
import os
import time
from typing import NamedTuple

import numpy as np

MASK_SIDE = 440
MEADOW = (700, 1000)
KITES = 6
SCENES_PER_SECOND = 8
SCENES_PER_WIND = 9

OUTLINES = {
    "diamond": [(0.0, -1.0), (0.6, -0.2), (0.0, 1.0), (-0.6, -0.2)],
    "delta": [(0.0, -0.8), (1.0, 0.6), (0.0, 0.4), (-1.0, 0.6)],
    "box": [(-0.5, -0.8), (0.5, -0.8), (0.5, 0.8), (-0.5, 0.8)],
}
MASKS = {}
MASKS_ROOM = 3 * KITES


class Pose(NamedTuple):
    outline: str
    turn: float
    tilt: float
    row: int
    column: int


def turned(points, turn, tilt):
    """Corners of the sail after the wind has had its way."""
    cosine, sine = math.cos(turn), math.sin(turn)
    return [(x * cosine - y * sine, (x * sine + y * cosine) * math.cos(tilt)) for x, y in points]


def draw_mask(outline, turn, tilt):
    """Soft mask of a convex outline: the smallest distance to the edges decides."""
    corners = turned(OUTLINES[outline], turn, tilt)
    axis = np.linspace(-1.2, 1.2, MASK_SIDE, dtype=np.float32)
    x, y = axis[None, :], axis[:, None]
    inside = np.full((MASK_SIDE, MASK_SIDE), 9.0, dtype=np.float32)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1]):
        length = math.hypot(bx - ax, by - ay)
        edge = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / max(length, 1e-6)
        np.minimum(inside, edge, out=inside)
    return np.clip(inside * 20.0 + 0.5, 0.0, 1.0)


def mask_for(pose):
    key = (pose.outline, pose.turn, pose.tilt)
    mask = MASKS.get(key)
    if mask is None:
        mask = draw_mask(*key)
        if len(MASKS) >= MASKS_ROOM:
            del MASKS[next(iter(MASKS))]
        MASKS[key] = mask
    return mask


class Wind:
    """Direction and gusts; it turns now and then, and the kites swing with it."""

    def __init__(self, rng):
        self.rng = rng
        self.direction = 0.4
        self.gust = 0.3
        self.sways = [0.0] * KITES

    def blow(self):
        self.direction += self.rng.normal(0.0, 0.05)
        self.gust = min(1.2, max(0.0, self.gust + self.rng.normal(0.0, 0.04)))
        self.sways = self.rng.normal(0.0, 0.1, size=KITES).tolist()

    def poses(self):
        names = sorted(OUTLINES)
        for number, sway in enumerate(self.sways):
            row = int(self.rng.integers(0, MEADOW[0] - MASK_SIDE))
            column = int(self.rng.integers(0, MEADOW[1] - MASK_SIDE))
            yield Pose(names[number % len(names)], self.direction + sway, self.gust, row, column)


def shade(meadow, poses):
    """Lays the masks of all kites on the meadow and returns the share of shade."""
    meadow.fill(0.0)
    for pose in poses:
        patch = meadow[pose.row:pose.row + MASK_SIDE, pose.column:pose.column + MASK_SIDE]
        np.maximum(patch, mask_for(pose), out=patch)
    return float(meadow.mean())


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    wind = Wind(np.random.default_rng(44))
    meadow = np.zeros(MEADOW, dtype=np.float32)
    scenes, shares = 0, 0.0
    while time.time() < end:
        if scenes % SCENES_PER_WIND == 0:
            wind.blow()
        shares += shade(meadow, wind.poses())
        scenes += 1
        if scenes % (3 * SCENES_PER_SECOND) == 0:
            print(f"scene {scenes} wind {math.degrees(wind.direction):.0f} deg gust {wind.gust:.2f} "
                  f"mean shade {100.0 * shares / scenes:.2f} %", flush=True)
        time.sleep(1.0 / SCENES_PER_SECOND)
    print(f"festival over after {scenes} scenes", flush=True)


if __name__ == "__main__":
    main()
