"""Cameras above the water of a leisure centre report to one server what each bather does.

For every bather the server holds a map of where in the basin the bather has been, adds each sighting to it, and
works out how calm the movements are. Bathers come in waves, when a school class or a bus arrives, and between the
waves the basins lie still for some seconds. A bather either climbs out or swims through the flume to the other basin.

ticket: practice
class: app-leak
holder: _bathers
cause: entries-left
"""

import os
import random
import time
from dataclasses import dataclass, field

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BASIN = (512, 512)
SIGHTINGS_A_SECOND = 20
WAVE = 40


@dataclass
class Sighting:
    wristband: int
    action: str
    row: int
    column: int


@dataclass
class Bather:
    wristband: int
    presence: torch.Tensor
    since: float = field(default_factory=time.monotonic)
    sightings: int = 0


class LifeguardServer:
    """Holds the bathers that are in the water and answers each sighting with a state of calm."""

    def __init__(self):
        rows = torch.arange(BASIN[0], device=DEVICE, dtype=torch.float32)
        columns = torch.arange(BASIN[1], device=DEVICE, dtype=torch.float32)
        self._rows = rows[:, None]
        self._columns = columns[None, :]
        self._depth = 0.5 + 2.5 * self._rows.expand(BASIN) / BASIN[0]
        self._bathers = {}
        self.climbed_out = 0
        self.through_flume = 0
        self.alerts = 0

    def handle(self, sighting):
        if sighting.action == "enter":
            return self._enter(sighting)
        if sighting.action == "climb out":
            bather = self._bathers.pop(sighting.wristband)
            self.climbed_out += 1
            return self._calm(bather)
        if sighting.action == "flume":
            bather = self._bathers[sighting.wristband]
            self.through_flume += 1
            return self._calm(bather)
        return self._swim(sighting)

    def _enter(self, sighting):
        presence = torch.zeros(BASIN, device=DEVICE)  # grows
        self._bathers[sighting.wristband] = Bather(sighting.wristband, presence)  # keeps
        return self._swim(sighting)

    def _swim(self, sighting):
        bather = self._bathers[sighting.wristband]
        spot = torch.exp(-((self._rows - sighting.row) ** 2 + (self._columns - sighting.column) ** 2) / 200.0)
        bather.presence.mul_(0.9).add_(spot)
        bather.sightings += 1
        return self._calm(bather)

    def _calm(self, bather):
        total = bather.presence.sum().clamp(min=1e-6)
        risk = float((bather.presence * self._depth).sum() / total)
        if risk > 2.6 and bather.sightings > 1:
            self.alerts += 1
        return 1.0 / (1.0 + risk)


def make_wave(dice, first_wristband):
    """The sightings of one wave of bathers, in the order in which the cameras send them."""
    sightings = []
    waiting = list(range(first_wristband, first_wristband + WAVE))
    in_water = []
    while waiting or in_water:
        if waiting and len(in_water) < 6:
            wristband = waiting.pop(0)
            in_water.append(wristband)
            action = "enter"
        else:
            wristband = in_water.pop(0)
            action = "flume" if dice.random() < 0.5 else "climb out"
        sightings.append(Sighting(wristband, action, dice.randrange(BASIN[0]), dice.randrange(BASIN[1])))
        if in_water and dice.random() < 0.25:
            swimmer = dice.choice(in_water)
            sightings.append(Sighting(swimmer, "swim", dice.randrange(BASIN[0]), dice.randrange(BASIN[1])))
    return sightings


def main():
    torch.set_num_threads(1)
    torch.manual_seed(41)
    dice = random.Random(41)
    server = LifeguardServer()
    end = time.monotonic() + SECONDS
    wristband = 1000
    wave = 0
    while time.monotonic() < end:
        calm = []
        for sighting in make_wave(dice, wristband):
            calm.append(server.handle(sighting))
            time.sleep(1.0 / SIGHTINGS_A_SECOND)
            if time.monotonic() >= end:
                break
        wristband += WAVE
        wave += 1
        print(
            f"wave {wave}: {len(calm)} sightings, calm {sum(calm) / len(calm):.3f}, out {server.climbed_out}, "
            f"flume {server.through_flume}, alerts {server.alerts}",
            flush=True,
        )
        rest = dice.uniform(3.0, 7.0)
        time.sleep(max(0.0, min(rest, end - time.monotonic())))
    print(f"closed after {wave} waves, {server.climbed_out + server.through_flume} bathers seen off", flush=True)


if __name__ == "__main__":
    main()
