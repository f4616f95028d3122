"""Cave tours: draughts in a grotto, for the comfort of the visitors.

Air moves through the grotto as the groups open its doors. A relaxation model follows the temperature on a
grid; a mean over the last twelve seconds steers the dampers, and the eddies behind the visitors, taken over
the last four seconds, tell the guide where it is draughty. The desk prints both.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from itertools import islice

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_A_SECOND = 8
GRID = (512, 512)
EDDY_GRID = (256, 512)
CLIMATE_SPAN = 12 * STEPS_A_SECOND
EDDY_SPAN = 4 * STEPS_A_SECOND
DOORS = 4


class GrottoAir:
    """Temperature of the air, pulled by the rock and stirred at the doors."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.rock = 8.0 + torch.rand(GRID, device=DEVICE, generator=generator)
        self.air = self.rock.clone()
        self.steps = 0

    def open_door(self, door):
        height = GRID[0] // DOORS
        self.air[door * height:(door + 1) * height, :24] += 3.0

    def step(self):
        self.steps += 1
        if self.steps % 5 == 0:
            self.open_door(self.steps // 5 % DOORS)
        mixed = 0.5 * (self.air.roll(1, 1) + self.air.roll(1, 0))
        self.air = 0.9 * mixed + 0.1 * self.rock
        return self.air

    def eddies(self):
        upper = self.air[:EDDY_GRID[0]]
        return upper - upper.roll(1, 0)


class Comfort:
    """Looks back on the climate and the eddies of the grotto."""

    def __init__(self):
        self._climate = deque(maxlen=CLIMATE_SPAN)
        self._eddies = deque(maxlen=EDDY_SPAN)

    def note(self, air, eddies):
        self._climate.append(air)
        self._eddies.append(eddies)

    def mean_temperature(self):
        total = sum(float(air[::16, ::16].mean()) for air in self._climate)
        return total / len(self._climate)

    def draughty_column(self):
        recent = islice(reversed(self._eddies), EDDY_SPAN)
        strength = torch.zeros(EDDY_GRID[1], device=DEVICE)
        for eddies in recent:
            strength += eddies.abs().mean(dim=0)
        return int(strength.argmax()), float(strength.amax())


class Dampers:
    """Opened and closed slowly, so that the grotto keeps its temperature."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.opening = 0.5

    def steer(self, temperature):
        change = max(-0.02, min(0.02, 0.1 * (temperature - self.wanted)))
        self.opening = max(0.0, min(1.0, self.opening + change))
        return self.opening


class GrottoDesk:
    def __init__(self, air, comfort, dampers):
        self.air = air
        self.comfort = comfort
        self.dampers = dampers

    def step(self):
        air = self.air.step()
        self.comfort.note(air, self.air.eddies())

    def report(self):
        temperature = self.comfort.mean_temperature()
        opening = self.dampers.steer(temperature)
        column, strength = self.comfort.draughty_column()
        return (f"step {self.air.steps}: mean {temperature:.2f} C, dampers {opening:.2f}, "
                f"draughty at column {column} ({strength:.2f})")


def main():
    torch.set_num_threads(1)
    desk = GrottoDesk(GrottoAir(77), Comfort(), Dampers(8.6))
    start = time.monotonic()
    due, next_print = start, start + 2.0
    while time.monotonic() - start < SECONDS:
        desk.step()
        if time.monotonic() >= next_print:
            next_print += 2.0
            print(desk.report(), flush=True)
        due += 1.0 / STEPS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"grotto closed after {desk.air.steps} steps", flush=True)


if __name__ == "__main__":
    main()
