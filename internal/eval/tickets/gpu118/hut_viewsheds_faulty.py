"""Sunlight on the solar roofs of mountain huts.

Huts above the tree line live on the current of their roofs, and ridges take the sun away early. For each
hut and place of the sun, the light that reaches the ground around the hut is marched over a terrain
grid with CuPy. The wardens' displays then ask many times for spots within these light maps.

ticket: practice
class: app-leak
holder: _horizons
cause: cache-without-bound
"""
import os
import time
from collections import OrderedDict

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
ROUNDS_PER_SUN = 2 * ROUNDS_PER_SECOND
TERRAIN = 1600
SIDE = 724
MARCH = 24
HUTS = {
    "Steinkar": (60, 90),
    "Lochalm": (410, 700),
    "Gratsee": (820, 150),
    "Windeck": (300, 420),
    "Kaltbrunn": (760, 800),
}


def make_terrain(seed):
    """A range of hills from a few broad waves, with rocks on top."""
    random = np.random.default_rng(seed)
    axis = cp.linspace(0.0, 1.0, TERRAIN, dtype=cp.float32)
    height = cp.zeros((TERRAIN, TERRAIN), dtype=cp.float32)
    for wave in range(1, 7):
        turn = float(random.uniform(0.0, 6.28))
        height += cp.sin(6.28 * wave * axis + turn)[:, None] * cp.cos(5.1 * wave * axis)[None, :] / wave
    rocks = random.standard_normal((TERRAIN, TERRAIN), dtype=np.float32)
    return 400.0 * height + 3.0 * cp.asarray(rocks)


class SunPath:
    """Place of the sun, moved on by some minutes each time."""

    def __init__(self):
        self.minute = 0

    def advance(self):
        self.minute += 4

    def direction(self):
        turn = 2.0 * np.pi * self.minute / 1440.0
        rise = 0.25 + 0.2 * np.sin(turn)
        return float(np.cos(turn)), float(np.sin(turn)), float(rise)


class LightMaps:
    """Light around the huts, marched once for each hut and minute."""

    def __init__(self, terrain):
        self._terrain = terrain
        self._horizons = OrderedDict()
        self.marched = 0

    def at(self, hut, sun):
        key = (hut, sun.minute)
        if key not in self._horizons:
            self._horizons[key] = self._march(HUTS[hut], sun.direction())  # keeps
        self._horizons.move_to_end(key)
        return self._horizons[key]

    def _march(self, corner, direction):
        east, north, rise = direction
        row, column = corner
        ground = self._terrain[row:row + SIDE, column:column + SIDE]
        highest = cp.full((SIDE, SIDE), -1.0e6, dtype=cp.float32)
        for step in range(1, MARCH + 1):
            rows, columns = int(round(2 * step * north)), int(round(2 * step * east))
            ridge = cp.roll(ground, (rows, columns), axis=(0, 1))
            cp.maximum(highest, ridge - rise * 10.0 * step, out=highest)
        self.marched += 1
        return cp.clip(1.0 - (highest - ground) / 40.0, 0.0, 1.0)  # grows


class Display:
    """What a warden sees: the light on the roof and on spots nearby."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.yields = dict.fromkeys(HUTS, 0.0)

    def show(self, hut, light):
        row, column = (int(spot) for spot in self.random.integers(0, SIDE - 16, size=2))
        roof = float(light[SIDE // 2:SIDE // 2 + 8, SIDE // 2:SIDE // 2 + 8].mean())
        nearby = float(light[row:row + 16, column:column + 16].mean())
        self.yields[hut] += 0.5 * roof + 0.1 * nearby
        return roof


def main():
    terrain = make_terrain(seed=23)
    maps, sun, display = LightMaps(terrain), SunPath(), Display(seed=24)
    end = time.monotonic() + SECONDS
    due = time.monotonic()
    rounds = 0
    while time.monotonic() < end:
        if rounds % ROUNDS_PER_SUN == 0:
            sun.advance()
        roofs = {hut: display.show(hut, maps.at(hut, sun)) for hut in HUTS}
        rounds += 1
        if rounds % 18 == 0:
            brightest = max(roofs, key=roofs.get)
            print(f"minute {sun.minute}: brightest roof {brightest} {roofs[brightest]:.2f}, "
                  f"{maps.marched} maps marched", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    best = max(display.yields, key=display.yields.get)
    print(f"day over at minute {sun.minute}: best yield at {best}, {display.yields[best]:.1f}", flush=True)


if __name__ == "__main__":
    main()
