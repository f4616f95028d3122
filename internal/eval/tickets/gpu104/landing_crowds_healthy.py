"""Landings of the escalators in a metro station are watched from above. People come off the steps in pulses with the
trains, spread over the landing and leave by the passages; where the crowd at the foot of the steps gets too dense, the
escalator is slowed. The station's log gathers what the landings report and hands the urgent entries to the desk.

ticket: practice
class: none
"""
import logging
import math
import os
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LANDINGS = 5
SIDE = 384
ROUNDS_A_SECOND = 10.0
DESK_INTERVAL = 1.0
DENSE = 1.5

log = logging.getLogger("station.landings")


class StationLog(logging.Handler):
    """Gathers entries between two looks of the desk."""

    def __init__(self):
        super().__init__(level=logging.INFO)
        self._entries = []

    def emit(self, record):
        self._entries.append(record)

    def collect(self):
        """The urgent entries since the last look, in their order."""
        urgent = [entry for entry in self._entries if entry.levelno >= logging.WARNING]
        self._entries.clear()
        return urgent


class Landing:
    """Density of people over one landing, in persons a square metre."""

    def __init__(self, number, seed):
        self.number = number
        self._dice = torch.Generator().manual_seed(seed)
        self.density = torch.zeros(SIDE, SIDE, device=DEVICE)
        rows = torch.arange(SIDE, device=DEVICE).view(-1, 1)
        self.passages = 1.0 - 0.12 * (rows > SIDE * 3 // 4).float()
        self.speed = 1.0
        self.headway = 3.0 + 0.7 * number

    def arrivals(self, clock):
        """People off the steps now: a pulse for each train."""
        pulse = max(0.0, math.sin(2.0 * math.pi * clock / self.headway))
        return self.speed * pulse * (0.5 + torch.rand((), generator=self._dice).item())

    def advance(self, clock):
        """Move the crowd one round on; returns the density over the landing."""
        crowd = self.density.clone()
        crowd[:24, SIDE // 2 - 40:SIDE // 2 + 40] += 0.5 * self.arrivals(clock)
        crowd = F.avg_pool2d(F.pad(crowd[None, None], (4, 4, 6, 2), mode="replicate"), 9, 1)[0, 0]
        self.density = crowd * self.passages
        return self.density

    def adapt(self, foot):
        self.speed = max(0.4, self.speed - 0.1) if foot > DENSE else min(1.0, self.speed + 0.02)


class Station:
    def __init__(self, seed=9):
        self.landings = [Landing(number, seed + number) for number in range(LANDINGS)]
        self.rounds = 0

    def round(self, clock):
        """One landing after the other is advanced and reports its crowd."""
        landing = self.landings[self.rounds % LANDINGS]
        crowd = landing.advance(clock)
        foot = crowd[:24, SIDE // 2 - 40:SIDE // 2 + 40].mean().item()
        level = logging.WARNING if foot > DENSE else logging.INFO
        log.log(level, "landing %d at %.2f persons a square metre: %s", landing.number, foot, crowd)
        landing.adapt(foot)
        self.rounds += 1


class Desk:
    """Looks at the urgent entries and calls stewards to the landings."""

    def __init__(self, station_log):
        self.station_log = station_log
        self.calls = [0] * LANDINGS
        self.worst = 0.0

    def look(self):
        for entry in self.station_log.collect():
            number, _, crowd = entry.args
            self.calls[number] += 1
            self.worst = max(self.worst, crowd.max().item())


def main():
    torch.set_num_threads(1)
    station_log = StationLog()
    log.addHandler(station_log)
    log.setLevel(logging.INFO)
    log.propagate = False
    station, desk = Station(), Desk(station_log)
    start = time.monotonic()
    next_look, next_line = start + DESK_INTERVAL, start + 2.0
    while time.monotonic() - start < SECONDS:
        station.round(time.monotonic() - start)
        if time.monotonic() >= next_look:
            desk.look()
            next_look += DESK_INTERVAL
        if time.monotonic() >= next_line:
            speeds = " ".join(f"{landing.speed:.2f}" for landing in station.landings)
            print(f"round {station.rounds}: speeds {speeds}, stewards {sum(desk.calls)}", flush=True)
            next_line += 3.0
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"last train: {station.rounds} rounds, stewards {sum(desk.calls)}, worst {desk.worst:.2f}", flush=True)


if __name__ == "__main__":
    main()
