"""Fermentation in an oak vat of a cider maker, as two fields on a section through the vat.

Sugar is carried about by slow currents and eaten by yeast, which grows where it finds sugar and dies
where the must is cold. The cellar book holds the state of recent hours, for the cellar master likes to
go back an hour or two and try another temperature when the yeast turns sluggish.

ticket: practice
class: none
"""
import math
import os
import time
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
HEIGHT, WIDTH = 448, 512
STEPS_PER_SECOND = 10.0
STEPS_PER_HOUR = 3
HOURS_BACK = 2
PAGES_HELD = 8


@dataclass
class VatState:
    hour: int
    sugar: cp.ndarray
    yeast: cp.ndarray
    celsius: float


class CellarBook:
    """States of the vat by the hour."""

    def __init__(self):
        self.pages: dict[int, VatState] = {}

    def write(self, hour: int, vat: "Vat") -> None:
        self.pages[hour] = vat.state(hour)
        self.pages.pop(hour - PAGES_HELD, None)

    def read(self, hour: int) -> VatState | None:
        return self.pages.get(hour)


class Vat:
    def __init__(self, seed: int):
        noise = cp.random.RandomState(seed)
        self.noise = noise
        self.sugar = (0.8 + 0.2 * noise.rand(HEIGHT, WIDTH)).astype(cp.float32)
        self.yeast = (0.05 + 0.02 * noise.rand(HEIGHT, WIDTH)).astype(cp.float32)
        depth = cp.linspace(0.0, 1.0, HEIGHT, dtype=cp.float32)[:, None]
        self.cold = cp.repeat(0.3 * depth, WIDTH, axis=1)
        self.celsius = 16.0

    def _spread(self, field: cp.ndarray, rate: float) -> cp.ndarray:
        around = cp.roll(field, 1, axis=0) + cp.roll(field, -1, axis=0)
        around += cp.roll(field, 1, axis=1)
        around += cp.roll(field, -1, axis=1)
        return field + rate * (around - 4.0 * field)

    def step(self, moment: int) -> None:
        shift = 1 if math.sin(moment / 11.0) > 0 else -1
        sugar = cp.roll(self._spread(self.sugar, 0.12), shift, axis=1)
        yeast = self._spread(self.yeast, 0.05)
        vigour = 0.02 * math.exp(-((self.celsius - 18.0) / 6.0) ** 2)
        eaten = vigour * sugar * yeast
        self.sugar = cp.clip(sugar - eaten, 0.0, 1.0)
        self.yeast = cp.clip(yeast + 0.6 * eaten - 0.0004 * self.cold * yeast, 0.0, 2.0)

    def feed(self) -> None:
        self.sugar = (0.7 * self.sugar + 0.3 * self.noise.rand(HEIGHT, WIDTH)).astype(cp.float32)

    def state(self, hour: int) -> VatState:
        return VatState(hour, self.sugar.copy(), self.yeast.copy(), self.celsius)

    def restore(self, state: VatState) -> None:
        self.sugar = state.sugar.copy()
        self.yeast = state.yeast.copy()
        self.celsius = state.celsius

    def sweetness(self) -> float:
        return float(self.sugar.mean())


class CellarMaster:
    """Looks in every hour, and goes back in the book when the must hardly changes."""

    def __init__(self, vat: Vat, book: CellarBook):
        self.vat = vat
        self.book = book
        self.tries = 0
        self.last = vat.sweetness()

    def look_in(self, hour: int) -> float:
        self.book.write(hour, self.vat)
        sweetness = self.vat.sweetness()
        if hour % 12 == 0:
            self.vat.feed()
        elif abs(self.last - sweetness) < 2e-4:
            earlier = self.book.read(hour - HOURS_BACK)
            if earlier is not None:
                self.vat.restore(earlier)
            self.vat.celsius = 14.0 + (self.vat.celsius - 13.0) % 8.0
            self.tries += 1
        self.last = sweetness
        return sweetness


def main() -> None:
    vat = Vat(seed=1664)
    master = CellarMaster(vat, CellarBook())
    began = time.monotonic()
    next_report = began + 2.0
    moment, sweetness = 0, 0.0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        vat.step(moment)
        moment += 1
        if moment % STEPS_PER_HOUR == 0:
            sweetness = master.look_in(moment // STEPS_PER_HOUR)
        if started >= next_report:
            hour = moment // STEPS_PER_HOUR
            print(f"hour {hour}: sugar {sweetness:.4f}, {vat.celsius:.0f} C, tries {master.tries}", flush=True)
            next_report = started + 3.0
        time.sleep(max(0.0, 1.0 / STEPS_PER_SECOND - (time.monotonic() - started)))
    print(f"bung driven in after {moment // STEPS_PER_HOUR} hours, sugar {sweetness:.4f}", flush=True)


if __name__ == "__main__":
    main()
