"""Baking advice for a bakery of pretzels with several deck ovens.

Trays of lye-dipped pretzels come to the ovens all day. For each tray the advisor looks up how heat enters the
dough of that flour at the oven's temperature, as a map over depth and time, and reads from it when the crust is
brown and the core is done. A map is solved on the device, at every depth and every two seconds of the bake.

ticket: practice
class: app-leak
holder: _heat_maps
cause: cache-without-bound
"""
import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
DEPTHS = 512
MINUTES = 16
STEPS = 512
TRAYS_A_SECOND = 9.0
DIFFUSIVITY = {"wheat 550": 0.21, "spelt 630": 0.17}
CORE_DONE = 92.0
CRUST_BROWN = 165.0


@dataclass(frozen=True)
class Tray:
    number: int
    oven: str
    flour: str
    pieces: int
    weight: float


class DeckOven:
    """An oven whose thermocouple swings about its set point as the burner goes on and off."""

    def __init__(self, name, set_point, rng):
        self.name = name
        self.set_point = set_point
        self.rng = rng
        self.offset = 0.0

    def read(self):
        self.offset = 0.8 * self.offset + self.rng.uniform(-4.0, 4.0)
        return self.set_point + max(-12.0, min(12.0, self.offset))


class BakingAdvisor:
    def __init__(self):
        self._heat_maps = {}
        self.lookups = 0
        self.solved = 0

    def heat_map(self, flour, oven_temperature):
        """The temperature in the dough by time (rows) and depth (columns)."""
        self.lookups += 1
        key = (flour, oven_temperature)
        found = self._heat_maps.get(key)
        if found is None:
            found = self._solve(*key)
            self._heat_maps[key] = found  # keeps
        return found

    def _solve(self, flour, oven_temperature):
        self.solved += 1
        depth = torch.linspace(0.0, 1.0, DEPTHS, device=DEVICE)
        minute = torch.linspace(0.02, MINUTES, STEPS, device=DEVICE).unsqueeze(1)
        spread = 2.0 * torch.sqrt(DIFFUSIVITY[flour] * minute / 4.0)
        surface = 1.0 - torch.exp(-minute * 0.9)
        heat = torch.erfc(depth / spread) * surface + 0.35 * torch.erfc((2.0 - depth) / spread)
        return 24.0 + (oven_temperature - 24.0) * heat.clamp(max=1.0)  # grows

    def advise(self, tray, oven_temperature):
        heat = self.heat_map(tray.flour, oven_temperature)
        core = heat[:, int(DEPTHS * min(0.9, 0.45 + tray.weight / 500.0))]
        crust = heat[:, 4]
        return self._first(core >= CORE_DONE), self._first(crust >= CRUST_BROWN)

    @staticmethod
    def _first(reached):
        row = int(torch.argmax(reached.float())) if bool(reached.any()) else STEPS - 1
        return row * MINUTES / STEPS


class TrayLine:
    """Brings trays to the ovens in turn; each oven bakes one flour."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.ovens = [DeckOven("north", 232.0, self.rng), DeckOven("south", 226.0, self.rng)]
        self.flours = list(DIFFUSIVITY)
        self.count = 0

    def next_tray(self):
        place = self.count % len(self.ovens)
        self.count += 1
        oven = self.ovens[place]
        tray = Tray(self.count, oven.name, self.flours[place], self.rng.randint(18, 30), self.rng.uniform(70.0, 110.0))
        return tray, oven.read()


def main():
    torch.manual_seed(5)
    line = TrayLine(seed=12)
    advisor = BakingAdvisor()
    pieces = 0
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        tray, temperature = line.next_tray()
        done, brown = advisor.advise(tray, temperature)
        pieces += tray.pieces
        if round_begun - told > 2.0:
            told = round_begun
            print(f"tray {tray.number} in {tray.oven} at {temperature:.1f} C ({tray.flour}): "
                  f"core after {done:.1f} min, crust after {brown:.1f} min, {pieces} pretzels so far", flush=True)
        time.sleep(max(0.01, 1.0 / TRAYS_A_SECOND - (time.monotonic() - round_begun)))
    print(f"done: {pieces} pretzels, {advisor.lookups} lookups, {advisor.solved} maps solved", flush=True)


if __name__ == "__main__":
    main()
