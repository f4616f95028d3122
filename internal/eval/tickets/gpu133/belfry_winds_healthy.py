"""
Forecast of how far the bells of a town carry. The sound of a bell spreads over the roofs with the wind; for each
stroke the service looks up the audibility map for bell and wind, works it out on the accelerator where it has none,
and tells the quarters in which the hour is heard.

ticket: practice
class: none
"""
import os
import random
import time

import numpy as np
import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STROKES_PER_SECOND = 12
ROWS, COLUMNS = 256, 512
THRESHOLD = 0.35
BELLS = {"Hour bell": (40, 90), "Market bell": (128, 250), "Curfew bell": (200, 330), "Fire bell": (90, 460)}
QUARTERS = {"north": slice(0, 64), "upper": slice(64, 128), "lower": slice(128, 192), "quay": slice(192, 256)}


class TownRoofs:
    """Height of the roofs and the spread of sound over them."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.damping = torch.rand(ROWS, COLUMNS, generator=generator, device=DEVICE) * 0.4 + 0.8
        self.rows = torch.arange(ROWS, device=DEVICE, dtype=torch.float32).unsqueeze(1)
        self.columns = torch.arange(COLUMNS, device=DEVICE, dtype=torch.float32)

    def spread(self, bell, wind):
        row, column = BELLS[bell]
        along = self.columns - column - 14.0 * wind
        across = self.rows - row
        distance = torch.sqrt(along * along + across * across)
        return torch.exp(-distance * self.damping / 120.0)


class AudibilityService:
    def __init__(self, roofs):
        self.roofs = roofs
        self._maps = {}
        self.looked_up = 0
        self.worked_out = 0

    def audibility(self, bell, wind):
        """Map of levels for a bell in a wind of so many metres a second."""
        wind = round(wind)
        key = (bell, wind)
        levels = self._maps.get(key)
        if levels is None:
            levels = np.sqrt(self.roofs.spread(bell, wind).cpu().numpy())
            self._maps[key] = levels
            self.worked_out += 1
        self.looked_up += 1
        return levels

    def quarters(self, bell, wind):
        levels = self.audibility(bell, wind)
        return [name for name, rows in QUARTERS.items() if levels[rows].mean() > THRESHOLD]


class Anemometer:
    """Wind over the roofs, between a breath and a fresh breeze."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.steady = 2.5

    def read(self):
        self.steady += self.rng.uniform(-0.05, 0.05)
        self.steady = min(max(self.steady, 2.4), 2.6)
        return self.steady + self.rng.uniform(-1.85, 1.85)


class Ringing:
    def __init__(self, service, anemometer):
        self.service = service
        self.anemometer = anemometer
        self.strokes = 0
        self.heard = {name: 0 for name in QUARTERS}

    def stroke(self):
        bell = list(BELLS)[self.strokes % len(BELLS)]
        for name in self.service.quarters(bell, self.anemometer.read()):
            self.heard[name] += 1
        self.strokes += 1


def report(ringing):
    shares = ", ".join(f"{name} {count / ringing.strokes:.0%}" for name, count in ringing.heard.items())
    print(f"stroke {ringing.strokes}: heard in {shares}", flush=True)


def main():
    ringing = Ringing(AudibilityService(TownRoofs(seed=64)), Anemometer(seed=65))
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        ringing.stroke()
        if ringing.strokes % (STROKES_PER_SECOND * 4) == 0:
            report(ringing)
        pause = start + ringing.strokes / STROKES_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"bells silent after {ringing.strokes} strokes, {ringing.service.looked_up} forecasts given", flush=True)


if __name__ == "__main__":
    main()
