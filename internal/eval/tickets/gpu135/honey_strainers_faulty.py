"""Strainers behind a row of honey presses.

Every lot of pressed honey gets a place on the strainers and a map of the specks in it, read by a camera under them.
From round to round the specks rise and are skimmed off. A lot that is clear is bottled; a lot that is too wet is sent
back to the drying room at its second look. Lots are known by their number until they leave the strainers.

ticket: practice
class: app-leak
holder: _lots
cause: entries-left
"""
import os
import time
from dataclasses import dataclass

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
ROWS, COLUMNS = 512, 768
PRESSES = ("heather", "lime", "chestnut", "clover")
CLEAR = 0.08
TOO_WET = 0.20


@dataclass
class Lot:
    number: int
    press: str
    moisture: float
    specks: cp.ndarray
    looks: int = 0


class SpeckCamera:
    """Makes the first map of specks of a lot."""

    def __init__(self, seed):
        draw = np.random.default_rng(seed)
        self._grain = cp.asarray(draw.random((ROWS, COLUMNS), dtype=np.float32))
        self._depth = cp.linspace(0.0, 1.0, ROWS, dtype=cp.float32)[:, None]

    def read(self, density, shift):
        grain = cp.roll(self._grain, shift, axis=1)
        return density * grain * (0.5 + self._depth)  # grows


class Strainers:
    def __init__(self, seed):
        self._camera = SpeckCamera(seed)
        self._draw = np.random.default_rng(seed + 1)
        self._lots = {}
        self._waiting = []
        self._opened = 0
        self.bottled = 0
        self.sent_back = 0
        self.clearness = 0.0

    def take_lot(self):
        self._opened += 1
        wet = self._draw.random() < 0.4
        moisture = self._draw.uniform(0.205, 0.230) if wet else self._draw.uniform(0.160, 0.195)
        specks = self._camera.read(float(self._draw.uniform(0.4, 0.8)), int(self._draw.integers(0, COLUMNS)))
        lot = Lot(self._opened, PRESSES[self._opened % len(PRESSES)], float(moisture), specks)
        self._lots[lot.number] = lot  # keeps
        self._waiting.append(lot.number)

    def skim(self, lot):
        """Specks rise by some rows; those at the top are taken off."""
        rise = 40 + 10 * lot.looks
        lot.specks[:-rise] = lot.specks[rise:].copy()
        lot.specks[-rise:] = 0.0
        lot.specks *= 0.72
        lot.looks += 1
        return float(lot.specks.mean())

    def look(self, number):
        """True while the lot is to be looked at again."""
        lot = self._lots[number]
        left = self.skim(lot)
        if lot.looks >= 2 and lot.moisture > TOO_WET:
            self._send_back(lot)
            return False
        if left < CLEAR:
            self._bottle(lot, left)
            return False
        return True

    def _bottle(self, lot, left):
        del self._lots[lot.number]
        self.bottled += 1
        self.clearness += (1.0 - left - self.clearness) / self.bottled

    def _send_back(self, lot):
        self.sent_back += 1

    def round(self):
        self.take_lot()
        self._waiting = [number for number in self._waiting if self.look(number)]

    def summary(self):
        return (
            f"{self._opened} lots, {len(self._waiting)} waiting, {self.bottled} bottled"
            f" (clearness {self.clearness:.3f}), {self.sent_back} to the drying room"
        )


def main():
    strainers = Strainers(seed=17)
    cp.cuda.Device().synchronize()
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        strainers.round()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds}: {strainers.summary()}", flush=True)
        time.sleep(max(0.0, started + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"strainers washed: {strainers.summary()}", flush=True)


if __name__ == "__main__":
    main()
