"""Night plan of an observatory: which stretch of sky the slit of the dome swept, pointing by pointing.

Each pointing of the telescope adds an azimuth and a slit width to the track of the night. After every
pointing the planner paints the track on rings of the sky, one row for a pointing, and reads from the
painting how evenly the night is covered. The next azimuth goes where the covering is thinnest.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import math
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SAMPLES = 26624
EVENING_POINTINGS = 120
NIGHT_POINTINGS = 1000
POINTINGS_PER_SECOND = 7.0


@dataclass(frozen=True)
class Pointing:
    azimuth: float
    width: float


@dataclass
class Coverage:
    thinnest: float
    evenness: float
    rows: int


class NightTrack:
    """The pointings of the night, the oldest of them dropped once the log sheet is full."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)
        self.pointings: deque[Pointing] = deque(maxlen=NIGHT_POINTINGS)
        for _ in range(EVENING_POINTINGS):
            self.point_at(self.dice.uniform(0.0, math.tau))

    def point_at(self, azimuth: float) -> None:
        jitter = self.dice.gauss(0.0, 0.02)
        self.pointings.append(Pointing((azimuth + jitter) % math.tau, self.dice.uniform(0.04, 0.09)))

    def __len__(self) -> int:
        return len(self.pointings)


class SkyPainter:
    """Paints the track on the device, a row of samples of the full circle for each pointing."""

    def __init__(self):
        self.circle = torch.linspace(0.0, math.tau, SAMPLES, device=DEVICE)
        self.covered = torch.zeros(SAMPLES, device=DEVICE)

    def _columns(self, track: NightTrack) -> tuple[torch.Tensor, torch.Tensor]:
        azimuths = torch.tensor([pointing.azimuth for pointing in track.pointings], device=DEVICE)
        widths = torch.tensor([pointing.width for pointing in track.pointings], device=DEVICE)
        return azimuths.unsqueeze(1), widths.unsqueeze(1)

    def paint(self, track: NightTrack) -> torch.Tensor:
        azimuths, widths = self._columns(track)
        canvas = torch.empty(len(track), SAMPLES, device=DEVICE)  # grows
        torch.sub(self.circle, azimuths, out=canvas)
        canvas.cos_().sub_(1.0).div_(widths.square())
        canvas.exp_()
        return canvas

    def read(self, canvas: torch.Tensor) -> Coverage:
        torch.sum(canvas, dim=0, out=self.covered)
        thinnest = self.circle[self.covered.argmin()].item()
        evenness = (self.covered.amin() / self.covered.mean()).item()
        return Coverage(thinnest, evenness, canvas.shape[0])


class NightPlanner:
    def __init__(self, track: NightTrack, painter: SkyPainter):
        self.track = track
        self.painter = painter
        self.planned = 0

    def plan_next(self) -> Coverage:
        coverage = self.painter.read(self.painter.paint(self.track))
        self.track.point_at(coverage.thinnest)
        self.planned += 1
        return coverage


@torch.no_grad()
def main() -> None:
    planner = NightPlanner(NightTrack(seed=31), SkyPainter())
    coverage = planner.plan_next()
    began = time.monotonic()
    next_report = began + 2.0
    next_pointing = began
    while time.monotonic() - began < SECONDS:
        coverage = planner.plan_next()
        now = time.monotonic()
        if now >= next_report:
            degrees = math.degrees(coverage.thinnest)
            print(f"{coverage.rows} pointings, thinnest at {degrees:.0f}, even {coverage.evenness:.2f}", flush=True)
            next_report = now + 3.0
        next_pointing = max(next_pointing + 1.0 / POINTINGS_PER_SECOND, now)
        time.sleep(next_pointing - now)
    print(f"slit closed after {planner.planned} pointings, evenness {coverage.evenness:.2f}", flush=True)


if __name__ == "__main__":
    main()
