"""Settlement of young oysters on the trays of a hatchery.

Larvae settle where the current is slow and the water warm. For every tray and hour the hatchery computes a field of
settlement, which is read both by the forecast of the harvest and by the pump controller. Every few seconds the boat
brings in a mosaic of the whole lease, which stays on the device as long as the surveyor compares it with the former
one.

    ticket: practice
    class: none
"""

import os
import random
import time
from collections import OrderedDict

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS, COLUMNS = 384, 256
TRAYS = 40
ROUNDS_PER_SECOND = 8
SURVEY_EVERY = 9.0
SURVEY_FROM, SURVEY_TO = 2.0, 5.0
MOSAIC_STRIPS = 16
FIELDS_AT_HAND = 12


class Water:
    """Base currents below the trays, and the water's temperature over time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.currents = torch.randn(TRAYS * 4, ROWS, COLUMNS, device=DEVICE)
        self.warmth = torch.linspace(0.0, 1.0, COLUMNS, device=DEVICE)

    def temperature(self, hour: int) -> float:
        return 17.0 + 3.0 * self.rng.random() + (hour % 24) / 12.0


class SettlementFields:
    """Fields of settlement by tray and hour."""

    def __init__(self, water: Water) -> None:
        self.water = water
        self._fields: OrderedDict[tuple[int, int], torch.Tensor] = OrderedDict()
        self.computed = 0

    def at(self, tray: int, hour: int) -> torch.Tensor:
        key = (tray, hour)
        if key in self._fields:
            self._fields.move_to_end(key)
            return self._fields[key]
        speed = self.water.currents[tray * 4 + hour % 4].abs()
        warm = self.water.warmth * self.water.temperature(hour)
        field = torch.exp(-speed).mul_(warm)
        self._fields[key] = field
        while len(self._fields) > FIELDS_AT_HAND:
            self._fields.popitem(last=False)
        self.computed += 1
        return field


class Surveyor:
    """Compares the boat's mosaic of the lease with what was seen before."""

    def __init__(self) -> None:
        self.mosaic: list[torch.Tensor] = []
        self.cover = 0.0
        self.surveys = 0

    def look(self, now: float) -> None:
        phase = now % SURVEY_EVERY
        wanted = SURVEY_FROM <= phase < SURVEY_TO
        if wanted and not self.mosaic:
            self.mosaic = [torch.full((2560, 2560), 0.1 * strip, device=DEVICE) for strip in range(MOSAIC_STRIPS)]
            self.surveys += 1
        elif wanted:
            strip = self.mosaic[int(phase * 10) % MOSAIC_STRIPS]
            self.cover += 0.05 * (float(strip[:256, :256].mean()) - self.cover)
        else:
            self.mosaic = []


class Hatchery:
    """One round: visit some tray, forecast its harvest, set its pump."""

    def __init__(self, fields: SettlementFields) -> None:
        self.fields = fields
        self.harvest = [0.0] * TRAYS
        self.pumps = [0.5] * TRAYS

    def forecast(self, tray: int, hour: int) -> None:
        field = self.fields.at(tray, hour)
        self.harvest[tray] = 0.9 * self.harvest[tray] + 0.1 * float(field.sum()) / 1000.0

    def set_pump(self, tray: int, hour: int) -> None:
        edge = self.fields.at(tray, hour)[-16:].mean()
        self.pumps[tray] += 0.05 * (float(edge) / 10.0 - self.pumps[tray])

    def visit(self, tray: int, hour: int) -> None:
        self.forecast(tray, hour)
        self.set_pump(tray, hour)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(14)
    hatchery = Hatchery(SettlementFields(Water(random.Random(14))))
    surveyor = Surveyor()
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        hatchery.visit(rounds % TRAYS, rounds // TRAYS)
        surveyor.look(time.monotonic() - start)
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            pump = sum(hatchery.pumps) / TRAYS
            print(f"round {rounds}: harvest {sum(hatchery.harvest):.1f}, pumps {pump:.2f}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{hatchery.fields.computed} fields, {surveyor.surveys} surveys, cover {surveyor.cover:.2f}", flush=True)


if __name__ == "__main__":
    main()
