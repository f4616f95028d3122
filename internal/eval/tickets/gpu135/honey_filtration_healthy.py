"""Honey from the press runs through a filter cloth.

The cloth is a grid of cells, each with its own openness; warm honey flows through at a rate that depends on pressure,
viscosity and the wax already caught. A charge of the press lasts two seconds here; then the cloth is rinsed and the
next charge comes. The station reports for every charge how much honey ran through and how evenly the cloth was filled.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass, field

import numpy as np
import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
ROUNDS_PER_CHARGE = 20
CELLS = 396
STEP = 0.1


@dataclass
class Charge:
    """One filling of the press, with the profiles of flow that were read while it ran."""

    number: int
    temperature: float
    profiles: list = field(default_factory=list)
    litres: float = 0.0
    unevenness: float = 0.0

    def read(self, flow):
        self.profiles.append(flow.cpu().numpy().astype(np.float32, copy=True))

    def close(self):
        mean = np.mean(self.profiles, axis=0)
        self.litres = float(sum(profile.sum() for profile in self.profiles)) * STEP / CELLS
        self.unevenness = float(mean.std() / mean.mean())
        self.profiles.clear()


class Cloth:
    """The filter cloth: openness of the weave and the wax caught by it."""

    def __init__(self, seed):
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.openness = 0.6 + 0.4 * torch.rand(CELLS, CELLS, device=DEVICE, generator=self._generator)
        self.wax = torch.zeros(CELLS, CELLS, device=DEVICE)

    def flow(self, pressure, viscosity):
        return pressure * self.openness / (viscosity * (1.0 + 6.0 * self.wax))

    def catch(self, flow, share):
        specks = torch.rand(CELLS, CELLS, device=DEVICE, generator=self._generator)
        self.wax.add_(share * STEP * flow * specks)

    def rinse(self):
        self.wax.mul_(0.05)


class Screw:
    """The press hand turns the screw harder as the honey runs slower."""

    def __init__(self):
        self.pressure = 1.0

    def reset(self):
        self.pressure = 1.0

    def follow(self, rate, wanted=0.35):
        self.pressure = min(4.0, max(0.5, self.pressure * (1.0 + 0.3 * (wanted - rate))))


def viscosity(temperature):
    return 1.2 * float(np.exp(-0.06 * (temperature - 30.0))) + 0.4


class FilterStation:
    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        self.cloth = Cloth(seed)
        self.screw = Screw()
        self.charges = []
        self.current = None

    def begin_charge(self):
        number = len(self.charges) + 1
        self.current = Charge(number, float(self._random.uniform(28.0, 38.0)))
        self.charges.append(self.current)
        self.screw.reset()

    def round(self):
        flow = self.cloth.flow(self.screw.pressure, viscosity(self.current.temperature))
        self.cloth.catch(flow, share=0.4)
        self.current.read(flow)
        self.screw.follow(flow.mean().item())

    def end_charge(self):
        charge = self.current
        charge.close()
        self.cloth.rinse()
        return charge

    def total(self):
        return sum(charge.litres for charge in self.charges)


def main():
    station = FilterStation(seed=61)
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        station.begin_charge()
        for _ in range(ROUNDS_PER_CHARGE):
            station.round()
            rounds += 1
            time.sleep(max(0.0, started + rounds / ROUNDS_PER_SECOND - time.monotonic()))
        charge = station.end_charge()
        print(
            f"charge {charge.number} at {charge.temperature:.1f} C: {charge.litres:.1f} l,"
            f" unevenness {charge.unevenness:.3f}, wax left {station.cloth.wax.mean().item():.4f}",
            flush=True,
        )
    print(f"cloth hung to dry after {len(station.charges)} charges, {station.total():.1f} l", flush=True)


if __name__ == "__main__":
    main()
