"""Kite festival: tuning the bridles of kite trains before the competition day.

A train is a line of light kites that share one tether. For every trial a field of gusts is drawn, all trains
of the batch are flown through it with a simple lattice model, and the sway of each kite is read off over
time. The desk ranks the trials by steadiness and prints the finalists for the judges.

ticket: practice
class: none
"""
import math
import os
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
TRIALS_A_SECOND = 6
TRAINS = 128
KITES = 32
TIME_STEPS = 64
FINALISTS = 12
GUST_CELLS = 2_000_000


@dataclass
class Bridle:
    """Settings of a trial: tow angle in degrees, spacing in metres, tail drag."""

    angle: float
    spacing: float
    drag: float


@dataclass
class Flight:
    number: int
    bridle: Bridle
    steadiness: float
    sway: torch.Tensor

    def worst_kite(self):
        return int(self.sway.abs().amax(dim=(0, 1)).argmax())


class WindField:
    """Gusts over the meadow, advected along the line of the tethers."""

    def __init__(self, generator):
        self.generator = generator
        self.cells = torch.randn(10, GUST_CELLS // 10, device=DEVICE, generator=generator)
        self.offset = 0

    def gust(self, height_band):
        row = self.cells[height_band % self.cells.shape[0]]
        self.offset = (self.offset + 977) % (row.shape[0] - TRAINS * KITES)
        piece = row[self.offset:self.offset + TRAINS * KITES]
        return piece.view(TRAINS, KITES)


class TrainModel:
    """Each kite is pulled by its two neighbours and pushed by the gust of its height."""

    def __init__(self, wind):
        self.wind = wind

    def fly(self, bridle):
        position = torch.zeros(TRAINS, KITES, device=DEVICE)
        speed = torch.zeros_like(position)
        lift = math.sin(math.radians(bridle.angle))
        trace = []
        for step in range(TIME_STEPS):
            pull = torch.roll(position, 1, 1) + torch.roll(position, -1, 1) - 2 * position
            force = lift * self.wind.gust(step) + pull / bridle.spacing - bridle.drag * speed
            speed = speed + 0.05 * force
            position = position + 0.05 * speed
            trace.append(position)
        return torch.stack(trace, dim=1)


class BridleDesk:
    """Draws settings, has them flown and keeps the standings."""

    def __init__(self, model, generator):
        self.model = model
        self.generator = generator
        self.flown = []
        self.trials = 0

    def draw(self):
        angle, spacing, drag = torch.rand(3, generator=self.generator).tolist()
        return Bridle(angle=20 + 40 * angle, spacing=0.5 + spacing, drag=0.1 + 0.6 * drag)

    def trial(self):
        bridle = self.draw()
        sway = self.model.fly(bridle)
        steadiness = 1.0 / (1e-3 + float(sway.std()))
        self.trials += 1
        flight = Flight(self.trials, bridle, steadiness, sway)
        self.flown.append(flight)
        self.flown.sort(key=lambda entry: entry.steadiness, reverse=True)
        del self.flown[FINALISTS:]
        return flight

    def standings(self):
        ranked = sorted(self.flown, key=lambda entry: entry.steadiness, reverse=True)
        return ranked[:FINALISTS]


def main():
    torch.set_num_threads(1)
    wind = WindField(torch.Generator(device=DEVICE).manual_seed(31))
    desk = BridleDesk(TrainModel(wind), torch.Generator().manual_seed(7))
    start = time.monotonic()
    due, next_print = start, start + 2.0
    while time.monotonic() - start < SECONDS:
        desk.trial()
        if time.monotonic() >= next_print:
            next_print += 2.0
            best = desk.standings()[0]
            print(f"trial {desk.trials}: best no. {best.number} angle {best.bridle.angle:.1f} "
                  f"steadiness {best.steadiness:.2f} restless kite {best.worst_kite()}", flush=True)
        due += 1.0 / TRIALS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"bridles chosen after {desk.trials} trials", flush=True)


if __name__ == "__main__":
    main()
