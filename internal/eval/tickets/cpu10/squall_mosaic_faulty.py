"""Squall mosaic of two weather radars.

The scanner turns through its elevations and hands over polar sweeps; the composer takes sweeps, puts them on a common
map and lets older echoes fade. Both are generators that a small conductor lets work in turns, at a fixed pace.

ticket: practice
class: host-growth
holder: backlog
cause: unbounded-queue
"""
import collections
import math
import os
import time

import torch

Sweep = collections.namedtuple("Sweep", "site elevation echoes")

ELEVATIONS = (0.5, 1.5, 2.4)
SITES = {"ridge": (-40.0, 10.0), "harbour": (35.0, -20.0)}
RAYS, GATES = 360, 500
SIDE = 160
RANGE_KM = 120.0
TURNS_A_SECOND = 8


def squall_line(turn, elevation, noise):
    """Echoes of a line of squalls, as a radar sees it at that elevation."""
    angle = torch.arange(RAYS).float().view(-1, 1) * (2 * math.pi / RAYS)
    gate = torch.arange(GATES).float().view(1, -1)
    front = 180.0 + 90.0 * torch.sin(angle + 0.02 * turn)
    echoes = 50.0 * torch.exp(-((gate - front) / 30.0) ** 2) / (1.0 + 0.2 * elevation)
    return echoes + torch.randn(RAYS, GATES, generator=noise)  # grows


def scanner(backlog):
    """Turns through the elevations of both sites, one site for each turn."""
    noise = torch.Generator().manual_seed(12)
    turn = 0
    while True:
        site = tuple(SITES)[turn % len(SITES)]
        for elevation in ELEVATIONS:
            backlog.append(Sweep(site, elevation, squall_line(turn, elevation, noise)))  # keeps
        turn += 1
        yield turn


class Map:
    """The common map with, for each site, where its cells lie in the polar sweep."""

    def __init__(self):
        self.cells = torch.zeros(SIDE, SIDE)
        self.places = {name: self.locate(*centre) for name, centre in SITES.items()}

    @staticmethod
    def locate(east, north):
        line = torch.linspace(-80.0, 80.0, SIDE)
        y, x = torch.meshgrid(line - north, line - east, indexing="ij")
        ray = (torch.atan2(x, y) % (2 * math.pi) * RAYS / (2 * math.pi)).long().clamp_(0, RAYS - 1)
        gate = (torch.hypot(x, y) * GATES / RANGE_KM).long()
        seen = gate < GATES
        return ray, gate.clamp_(0, GATES - 1), seen

    def paint(self, sweep):
        ray, gate, seen = self.places[sweep.site]
        echoes = torch.where(seen, sweep.echoes[ray, gate], self.cells)
        self.cells = torch.maximum(0.97 * self.cells, echoes)

    def strongest(self):
        place = int(self.cells.argmax())
        return float(self.cells.max()), place // SIDE, place % SIDE


def composer(backlog, chart):
    """Puts sweeps on the map, two in each turn, as many as the display can show."""
    painted = 0
    while True:
        for _ in range(2):
            if backlog:
                chart.paint(backlog.popleft())
                painted += 1
        yield painted


def conduct(end, *workers):
    """Lets the workers do their turns one after the other and yields what they say."""
    period = 1.0 / TURNS_A_SECOND
    due = time.time()
    while time.time() < end:
        yield [next(worker) for worker in workers]
        due += period
        time.sleep(max(0.0, due - time.time()))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    backlog = collections.deque()
    chart = Map()
    painted = 0
    for turn, painted in conduct(end, scanner(backlog), composer(backlog, chart)):
        if turn % (3 * TURNS_A_SECOND) == 0:
            value, row, column = chart.strongest()
            print(f"turn {turn}: {painted} sweeps on the map, strongest echo {value:.1f} dBZ at "
                  f"{row}/{column}", flush=True)
    print(f"map closed with {painted} sweeps", flush=True)


if __name__ == "__main__":
    main()
