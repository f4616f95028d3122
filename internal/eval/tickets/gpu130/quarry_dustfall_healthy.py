"""Dust that settles around an open stone quarry.

Each round brings one dusty event, a haul truck or a crusher start, together with the wind of the moment.
The plume of each grain class is carried by a transfer function in Fourier space, and the deposit map of the
valley is updated. The map tells the wardens which farms should be warned and when the water cart goes out.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GRID = 256
CELL_M = 12.0
ROUNDS_PER_SECOND = 8
SETTLING_MS = (0.08, 0.25, 0.6)
KERNEL_SLOTS = 24
WATER_CART_LEVEL = 1.5


@dataclass(frozen=True)
class Wind:
    bearing: float
    speed: float


@dataclass(frozen=True)
class DustEvent:
    row: int
    col: int
    grams: float


class WindMast:
    """Readings of the mast on the top bench."""

    def __init__(self, rng):
        self._rng = rng

    def read(self):
        bearing = round(float(self._rng.normal(240.0, 35.0)) % 360.0, 1)
        speed = round(float(self._rng.gamma(4.0, 1.1)) + 0.4, 2)
        return Wind(bearing, speed)


class PlumeModel:
    """Transfer functions of a plume, one for each grain class."""

    def __init__(self):
        freq = 2 * np.pi / CELL_M
        self._ky = torch.fft.fftfreq(GRID, device=DEVICE)[:, None] * freq
        self._kx = torch.fft.rfftfreq(GRID, device=DEVICE)[None, :] * freq
        self._settling = torch.tensor(SETTLING_MS, device=DEVICE)[:, None, None]
        self._kernels = {}
        self._order = deque(maxlen=KERNEL_SLOTS)
        self.computed = 0

    def transfer(self, wind):
        key = (wind.bearing, wind.speed)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._compute(wind)
            if len(self._order) == KERNEL_SLOTS:
                del self._kernels[self._order[0]]
            self._order.append(key)
            self._kernels[key] = kernel
        return kernel

    def _compute(self, wind):
        angle = np.deg2rad(wind.bearing)
        along = self._kx * (wind.speed * np.sin(angle)) + self._ky * (wind.speed * np.cos(angle))
        spread = (self._kx.square() + self._ky.square()) * (4.0 + 1.5 * wind.speed)
        self.computed += 1
        decay = self._settling * 0.04 + spread
        return self._settling * 0.04 / torch.complex(decay, along.expand_as(decay))


class Valley:
    """Deposit on the ground around the quarry."""

    def __init__(self, model):
        self.model = model
        self.deposit = torch.zeros(len(SETTLING_MS), GRID, GRID, device=DEVICE)
        self.shares = torch.tensor([0.2, 0.5, 0.3], device=DEVICE)[:, None, None]

    def settle(self, event, wind):
        source = torch.zeros(len(SETTLING_MS), GRID, GRID, device=DEVICE)
        source[:, event.row, event.col] = event.grams
        spectrum = torch.fft.rfft2(source * self.shares)
        fallen = torch.fft.irfft2(spectrum * self.model.transfer(wind), s=(GRID, GRID))
        self.deposit.mul_(0.995).add_(fallen.clamp_(min=0.0))

    def worst_cell(self):
        total = self.deposit.sum(dim=0)
        index = int(total.argmax())
        return index // GRID, index % GRID, float(total.max())

    def rinse(self):
        self.deposit[:, GRID // 3: 2 * GRID // 3].mul_(0.4)


def next_event(rng):
    row, col = rng.integers(GRID // 3, 2 * GRID // 3, size=2)
    return DustEvent(int(row), int(col), float(rng.gamma(2.0, 40.0)))


def main():
    torch.set_num_threads(1)
    rng = np.random.default_rng(1304)
    mast = WindMast(rng)
    valley = Valley(PlumeModel())
    started = time.monotonic()
    said = started
    rounds = rinses = 0
    while time.monotonic() - started < SECONDS:
        wind = mast.read()
        valley.settle(next_event(rng), wind)
        rounds += 1
        if time.monotonic() - said >= 3.0:
            row, col, grams = valley.worst_cell()
            if grams > WATER_CART_LEVEL:
                valley.rinse()
                rinses += 1
            said = time.monotonic()
            print(f"round {rounds}: wind {wind.bearing:.0f} deg {wind.speed:.1f} m/s, "
                  f"worst cell ({row},{col}) {grams:.2f} g", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"shift over: {rounds} events, {rinses} water carts, {valley.model.computed} plumes", flush=True)


if __name__ == "__main__":
    main()
