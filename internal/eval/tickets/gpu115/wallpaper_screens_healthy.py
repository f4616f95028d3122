"""Prepares the halftone screens of a wallpaper press.

Every ink is printed through a screen of dots at its own angle and ruling. The press measures how the paper has shifted
and turns the screens to match; the same screen serves for all sheets while the angle stays. The sheets themselves are
thresholded on the accelerator.

ticket: practice
class: none
"""
import os
import time
from collections import OrderedDict

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 512
INKS = {"cyan": 15.0, "magenta": 75.0, "yellow": 0.0, "black": 45.0}
RULING = 60.0
SHEETS_PER_ANGLE = 6
ROOM = 16
PAUSE = 0.06


class ScreenMaker:
    """Dot screens as threshold arrays, by ink angle and ruling."""

    def __init__(self):
        axis = np.arange(SIDE, dtype=np.float32) / SIDE
        self.across, self.along = np.meshgrid(axis, axis)
        self._screens = OrderedDict()
        self.made = 0

    def screen(self, angle, ruling):
        key = (round(angle, 4), round(ruling, 2))
        found = self._screens.get(key)
        if found is None:
            found = self._draw(angle, ruling)
            self._screens[key] = found
            if len(self._screens) > ROOM:
                self._screens.popitem(last=False)
        else:
            self._screens.move_to_end(key)
        return found

    def _draw(self, angle, ruling):
        self.made += 1
        turn = np.float32(np.deg2rad(angle))
        first = np.cos(turn) * self.across + np.sin(turn) * self.along
        second = np.cos(turn) * self.along - np.sin(turn) * self.across
        wave = np.float32(2.0 * np.pi * ruling)
        dots = 0.5 + 0.25 * (np.cos(wave * first) + np.cos(wave * second))
        return dots.astype(np.float32)


class PaperWeb:
    """The running paper: its skew wanders as the roll empties."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.skew = 0.0

    def settle(self):
        self.skew = 0.8 * self.skew + float(self.random.normal(0.0, 0.3))
        return self.skew


class Press:
    def __init__(self):
        self.maker = ScreenMaker()
        self.web = PaperWeb(seed=3)
        generator = torch.Generator().manual_seed(17)
        self.design = torch.rand(len(INKS), SIDE, SIDE, generator=generator).to(DEVICE)
        self.sheets = 0
        self.skew = 0.0
        self.coverage = {}

    def print_ink(self, layer, name):
        screen = self.maker.screen(INKS[name] + self.skew, RULING)
        thresholds = torch.from_numpy(screen).to(DEVICE)
        dots = self.design[layer] > thresholds
        self.coverage[name] = dots.float().mean().item()

    def print_sheet(self):
        if self.sheets % SHEETS_PER_ANGLE == 0:
            self.skew = self.web.settle()
        for layer, name in enumerate(INKS):
            self.print_ink(layer, name)
        self.sheets += 1

    def report(self):
        inks = ", ".join(f"{name} {share:.3f}" for name, share in self.coverage.items())
        return f"sheet {self.sheets}: skew {self.skew:+.3f}, {inks}"


def main():
    torch.set_num_threads(1)
    press = Press()
    began = time.monotonic()
    spoken = began
    while time.monotonic() - began < SECONDS:
        press.print_sheet()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            print(press.report(), flush=True)
        time.sleep(PAUSE)
    print(f"run finished: {press.sheets} sheets, {press.maker.made} screens drawn", flush=True)


if __name__ == "__main__":
    main()
