"""Colour transform of a telecine in a film laboratory.

Film is scanned strip by strip under a lamp whose colour temperature wanders by some kelvin. For each stock and
lamp reading there is a colour cube of 33 steps that turns scanner code values into print density; the cube is
computed from the dye curves of the stock and then used on the pixels of the strip. The desk shows the mean
density of the strips and how often a cube was at hand.

ticket: practice
class: none
"""
import math
import os
import random
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(35)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STRIPS_PER_SECOND = 15
STEPS = 33
STRIP_PIXELS = 60_000
STOCKS = {"5247": (0.60, 0.62, 0.66), "7291": (0.55, 0.60, 0.71)}
NOMINAL_KELVIN = 3200.0
KELVIN_STEP = 8.0


class Lamp:
    """The lamp house: a slow swing from the regulator and some flicker on top."""

    def __init__(self, seed=16):
        self.rng = random.Random(seed)

    def kelvin(self, strip):
        swing = 10.0 * math.sin(2 * math.pi * strip / (2.5 * STRIPS_PER_SECOND))
        return NOMINAL_KELVIN + swing + self.rng.uniform(-0.5, 0.5)


class CubeRoom:
    """Builds the colour cubes and has them at hand for strips with the same conditions."""

    def __init__(self):
        self._cubes = {}
        self.asked = 0
        self.found = 0
        axis = torch.linspace(0.0, 1.0, STEPS, device=DEVICE)
        r, g, b = torch.meshgrid(axis, axis, axis, indexing="ij")
        self.lattice = torch.stack([r, g, b], dim=-1).view(-1, 3)

    def _build(self, gammas, kelvin):
        shift = (kelvin - NOMINAL_KELVIN) / NOMINAL_KELVIN
        gain = torch.tensor([1.0 + shift, 1.0, 1.0 - shift], device=DEVICE)
        gamma = torch.tensor(gammas, device=DEVICE)
        crosstalk = torch.eye(3, device=DEVICE) * 0.94 + 0.02
        density = (self.lattice * gain).clamp(1e-3, 1.2).log10().neg() * gamma
        return (density @ crosstalk).view(STEPS, STEPS, STEPS, 3)

    def cube_for(self, stock, kelvin):
        key = (stock, round(kelvin / KELVIN_STEP))
        self.asked += 1
        cube = self._cubes.get(key)
        if cube is None:
            cube = self._build(STOCKS[stock], key[1] * KELVIN_STEP)
            self._cubes[key] = cube
        else:
            self.found += 1
        return cube


class Scanner:
    """Delivers code values of the strips: noise over a moving ramp."""

    def __init__(self):
        ramp = torch.linspace(0.05, 0.95, STRIP_PIXELS, device=DEVICE)
        self.ramp = torch.stack([ramp, ramp.flip(0), ramp.roll(STRIP_PIXELS // 3)], dim=1)
        self.grain = 0.02 * torch.randn(STRIP_PIXELS, 3, device=DEVICE)

    def strip(self, number):
        return (self.ramp.roll(97 * number, dims=0) + self.grain).clamp(0.0, 1.0)


def transform(cube, pixels):
    """Nearest lookup of the pixels in the cube."""
    index = (pixels * (STEPS - 1)).round().long()
    return cube[index[:, 0], index[:, 1], index[:, 2]]


class Telecine:
    def __init__(self):
        self.lamp = Lamp()
        self.room = CubeRoom()
        self.scanner = Scanner()
        self.density = 0.0

    def run_strip(self, number):
        stock = "5247" if number % 4 < 3 else "7291"
        kelvin = self.lamp.kelvin(number)
        cube = self.room.cube_for(stock, kelvin)
        printed = transform(cube, self.scanner.strip(number))
        self.density = 0.9 * self.density + 0.1 * printed.mean().item()
        return stock, kelvin


@torch.no_grad()
def main():
    telecine = Telecine()
    started = time.monotonic()
    due = started
    number = 0
    while time.monotonic() - started < SECONDS:
        stock, kelvin = telecine.run_strip(number)
        number += 1
        if number % (3 * STRIPS_PER_SECOND) == 0:
            share = telecine.room.found / telecine.room.asked
            print(f"strip {number} on {stock} at {kelvin:.1f} K: density {telecine.density:.3f}, "
                  f"cubes at hand {share:.0%}", flush=True)
        due += 1.0 / STRIPS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"scanned {number} strips, density {telecine.density:.3f}", flush=True)


if __name__ == "__main__":
    main()
