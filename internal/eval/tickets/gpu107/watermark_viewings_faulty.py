"""Viewings of watermarks for collectors of stamps.

A dealer lets collectors look at the watermark of a stamp from afar. A viewing starts with a scan of the back of
the stamp; the collector then turns the angle of the lamp and asks for views, in which the paper's grain is
taken off by its spectrum. A viewing ends when the collector buys or passes, or when nothing has been asked for
some time.

ticket: practice
class: app-leak
holder: _viewings
cause: sessions-kept entries-left
"""

import os
import random
import time

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 8
SIDE = 640
PATIENCE = 12
LAMPS = 5


class Paper:
    """Makes scans: grain of the paper, with a crown somewhere in it."""

    def __init__(self, seed):
        cp.random.seed(seed)
        self.grain = cp.random.rand(SIDE, SIDE).astype(cp.float32)
        ramp = cp.linspace(-1.0, 1.0, SIDE, dtype=cp.float32)
        self.radius = cp.sqrt(ramp[:, None] ** 2 + ramp[None, :] ** 2)
        self.dice = random.Random(seed)

    def scan(self):
        size = self.dice.uniform(0.2, 0.6)
        ring = cp.exp(-((self.radius - size) ** 2) * 60.0)
        shift = self.dice.randrange(SIDE)
        return cp.roll(self.grain, shift, axis=1) * 0.5 + ring * 0.3


class Viewing:
    """One collector before one stamp."""

    def __init__(self, number, scan, round_number):
        self.number = number
        self.spectrum = cp.fft.rfft2(scan).astype(cp.complex64)  # grows
        self.lamp = 0
        self.last_asked = round_number
        self.asked = 0

    def view(self, lamp, masks, round_number):
        self.lamp = lamp
        self.last_asked = round_number
        self.asked += 1
        picture = cp.fft.irfft2(self.spectrum * masks[lamp], s=(SIDE, SIDE))
        return float(cp.abs(picture).max())

    def idle(self, round_number):
        return round_number - self.last_asked > PATIENCE


class ViewingRoom:
    """All the viewings, by number, and who is before which stamp."""

    def __init__(self, paper):
        self.paper = paper
        self._viewings = {}
        self._present = set()
        self.opened = 0
        self.sold = 0
        self.expired = 0
        rows = cp.abs(cp.fft.fftfreq(SIDE)).astype(cp.float32)[:, None]
        columns = cp.fft.rfftfreq(SIDE).astype(cp.float32)[None, :]
        distance = cp.sqrt(rows**2 + columns**2)
        self.masks = [cp.exp(-((distance / (0.02 + 0.01 * lamp)) ** 2)).astype(cp.float32) for lamp in range(LAMPS)]

    def open(self, round_number):
        self.opened += 1
        self._viewings[self.opened] = Viewing(self.opened, self.paper.scan(), round_number)  # grows keeps
        self._present.add(self.opened)
        return self.opened

    def ask(self, number, lamp, round_number):
        return self._viewings[number].view(lamp, self.masks, round_number)

    def decide(self, number, buys):
        self._present.discard(number)
        viewing = self._viewings.pop(number)
        self.sold += buys
        return viewing.asked

    def sweep(self, round_number):
        """Ends the viewings at which nobody has asked for anything lately."""
        for number in [n for n in self._present if self._viewings[n].idle(round_number)]:
            self._present.discard(number)
            self.expired += 1

    def present(self):
        return sorted(self._present)


def main():
    dice = random.Random(1840)
    room = ViewingRoom(Paper(seed=1847))
    faithful = set()
    brightest = 0.0
    start = time.monotonic()
    round_number = 0
    while time.monotonic() - start < SECONDS:
        number = room.open(round_number)
        if dice.random() < 0.4:
            faithful.add(number)
        for number in room.present():
            if number in faithful and dice.random() < 0.5:
                brightest = room.ask(number, dice.randrange(LAMPS), round_number)
                if dice.random() < 0.3:
                    room.decide(number, buys=dice.random() < 0.5)
        room.sweep(round_number)
        faithful.intersection_update(room.present())
        round_number += 1
        if round_number % 24 == 0:
            print(f"{room.opened} viewings, {room.sold} sold, {room.expired} expired, view {brightest:.2f}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"room closed after {room.opened} viewings, {room.sold} stamps sold", flush=True)


if __name__ == "__main__":
    main()
