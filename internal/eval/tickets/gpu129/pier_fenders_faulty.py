"""Loads on the fenders of a ferry pier while boats come alongside.

Each docking presses a field of rubber fenders on the face of the pier. The
swell gauge at the pier head reports the water level to whoever is
interested, and a docking shifts its point of contact by that level until
the boat casts off again. The worst pressure of each docking goes to the
harbour office as a single number.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""

import math
import os
import random
import time
from collections import deque

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 6.0
ROUNDS_A_BOAT = 2
STAY = 8
FACE = (512, 1024)
BOATS = ["Mary Ann", "Kestrel", "Lady of the Sound", "Tern", "Old Harry"]


class SwellGauge:
    """Water level at the pier head, passed on to its listeners."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._listeners = []
        self.level = 0.0

    def subscribe(self, listener):
        self._listeners.append(listener)  # keeps

    def unsubscribe(self, listener):
        self._listeners = [known for known in self._listeners if known is not listener]

    def read(self, number):
        self.level = 0.6 * math.sin(number / 40.0) + self._random.gauss(0.0, 0.05)
        for listener in self._listeners:
            listener(self.level)


class PierFace:
    """Geometry and stiffness of the fenders, the same for every docking."""

    def __init__(self, shape):
        rows, columns = shape
        generator = torch.Generator().manual_seed(11)
        self.shape = shape
        self.rows = torch.linspace(-2.0, 2.0, rows, device=DEVICE)[:, None]
        self.columns = torch.linspace(-8.0, 8.0, columns, device=DEVICE)[None, :]
        self.stiffness = (0.8 + 0.4 * torch.rand(shape, generator=generator)).to(DEVICE)
        self.ageing = torch.rand((8, *shape), generator=generator).to(DEVICE)

    def contact(self, height, along, width):
        across = torch.exp(-((self.rows - height) ** 2) / 0.5)
        length = torch.exp(-((self.columns - along) ** 2) / width)
        return across * length * self.stiffness


class Docking:
    """One boat that lies alongside."""

    def __init__(self, boat, face, along, speed):
        self.boat = boat
        self.face = face
        self.along = along
        self.speed = speed
        self.level = 0.0
        self.rounds = 0
        self.pressure = torch.zeros(face.shape, device=DEVICE)  # grows

    def on_swell(self, level):
        self.level = level

    def press(self):
        push = self.speed * math.exp(-self.rounds / 3.0) + 0.05
        contact = self.face.contact(self.level, self.along, 1.5 + self.rounds * 0.1)
        self.pressure.mul_(0.7).add_(contact, alpha=push)
        self.rounds += 1

    def worst(self):
        return float(self.pressure.max())


class Pier:
    """Takes boats in, works on them and lets them go."""

    def __init__(self, face, gauge, seed):
        self.face = face
        self.gauge = gauge
        self._random = random.Random(seed)
        self._alongside = deque()
        self.cast_off = 0
        self.peak = 0.0

    def arrive(self):
        along = self._random.uniform(-6.0, 6.0)
        docking = Docking(self._random.choice(BOATS), self.face, along, self._random.uniform(0.2, 0.6))
        self.gauge.subscribe(docking.on_swell)
        self._alongside.append(docking)

    def work(self):
        for docking in self._alongside:
            docking.press()

    def depart(self):
        while self._alongside and self._alongside[0].rounds >= STAY:
            docking = self._alongside.popleft()
            self.gauge.unsubscribe(docking.on_swell)
            self.peak = max(0.98 * self.peak, docking.worst())
            self.cast_off += 1


def main():
    gauge = SwellGauge(seed=3)
    pier = Pier(PierFace(FACE), gauge, seed=4)
    start = time.monotonic()
    number = 0
    while time.monotonic() - start < SECONDS:
        gauge.read(number)
        if number % ROUNDS_A_BOAT == 0:
            pier.arrive()
        pier.work()
        pier.depart()
        number += 1
        if number % 18 == 0:
            print(f"boats {pier.cast_off:4d}  level {gauge.level:+.2f} m  peak {pier.peak:.3f}", flush=True)
        time.sleep(max(0.0, start + number * ROUND - time.monotonic()))
    print(f"pier closed after {pier.cast_off} boats, peak {pier.peak:.3f}", flush=True)


if __name__ == "__main__":
    main()
