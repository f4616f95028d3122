"""Live tables of a city marathon that is started in waves.

The mats along the course send their crossings in small groups to the timing desk. For each wave
a board is opened: a tensor of runners by mats by quantities (time, pace, forecasts, rank, share),
and as crossings come in the board writes them and forecasts the finish from the paces so far.
A wave is short here, and a board is closed once its last mat has reported. The desk hands each
group of crossings to everyone who has asked for them.

ticket: practice
class: host-growth
holder: followers WaveBoard
cause: callbacks-left
"""
import itertools
import os
import time
from typing import NamedTuple

import torch

MATS = 24
RUNNERS = 12000
QUANTITIES = 6
COURSE_KM = 42.195
TICK = 0.05


class Crossings(NamedTuple):
    wave: int
    mat: int
    bibs: torch.Tensor
    seconds: torch.Tensor


class TimingDesk:
    """Where the mats report; followers are functions of one group of crossings."""

    def __init__(self):
        self.followers = []
        self.groups = 0

    def follow(self, function):
        self.followers.append(function)  # keeps

    def unfollow(self, function):
        self.followers.remove(function)

    def report(self, crossings):
        self.groups += 1
        for function in self.followers:
            function(crossings)


class WaveBoard:
    def __init__(self, wave, desk):
        self.wave = wave
        self.table = torch.full((RUNNERS, MATS, QUANTITIES), float("nan"))  # grows
        self.desk = desk
        desk.follow(self.on_crossings)  # keeps

    def on_crossings(self, crossings):
        if crossings.wave != self.wave:
            return
        rows, mat = crossings.bibs, crossings.mat
        distance = COURSE_KM * (mat + 1) / MATS
        pace = crossings.seconds / distance
        fading = 1.0 + 0.04 * (1.0 - distance / COURSE_KM)
        forecast = pace * COURSE_KM
        row = [crossings.seconds, pace, forecast, forecast * fading, pace.argsort().argsort().float(),
               crossings.seconds / crossings.seconds.max()]
        self.table[rows, mat] = torch.stack(row, dim=1)

    def leader(self):
        finish = self.table[:, -1, 0]
        return float(torch.nan_to_num(finish, nan=float("inf")).min())

    def close(self):
        return self.leader()


class Ticker:
    """The line at the bottom of the broadcast; follows all waves for the whole day."""

    def __init__(self, desk):
        self.fastest = float("inf")
        self.seen = 0
        desk.follow(self.on_crossings)

    def on_crossings(self, crossings):
        self.seen += crossings.bibs.numel()
        if crossings.mat == MATS - 1:
            self.fastest = min(self.fastest, float(crossings.seconds.min()))


def run_wave(wave, source):
    """The crossings of one wave, mat by mat."""
    paces = 230 + 90 * torch.rand(RUNNERS, generator=source)
    elapsed = torch.zeros(RUNNERS)
    for mat in range(MATS):
        tired = 1.0 + 0.002 * mat * torch.rand(RUNNERS, generator=source)
        elapsed = elapsed + paces * tired * COURSE_KM / MATS
        present = torch.rand(RUNNERS, generator=source) > 0.03
        bibs = present.nonzero().squeeze(1)
        yield Crossings(wave, mat, bibs, elapsed[bibs])


def clock_face(seconds):
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    source = torch.Generator().manual_seed(42)
    desk = TimingDesk()
    ticker = Ticker(desk)
    spoken = time.time()
    for wave in itertools.count(1):
        board = WaveBoard(wave, desk)
        for crossings in run_wave(wave, source):
            desk.report(crossings)
            time.sleep(TICK)
        best = board.close()
        if time.time() - spoken > 3:
            spoken = time.time()
            print(f"wave {wave}: first home {clock_face(best)}, fastest of the day "
                  f"{clock_face(ticker.fastest)}, {ticker.seen} crossings", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
