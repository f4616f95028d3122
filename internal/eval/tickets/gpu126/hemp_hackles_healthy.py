"""Hackling of hemp in the loft over a rope walk.

Bundles of raw hemp are drawn through boards of steel pins, coarse to fine, until the fibres lie side by side. A
bundle with a knot in it is turned back at the board where the knot shows, and the foreman's book has for each board
how many were turned back and how bad the last one was.

ticket: practice
class: none
"""

import os
import time
from collections import Counter

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BUNDLES_PER_SECOND = 10
FIBRES = 512
POINTS = 512


class KnotFound(Exception):
    """A bundle that cannot go through a board."""

    def __init__(self, board, bundle, strain):
        super().__init__(f"bundle {bundle} holds at the {board} board with strain {strain:.2f}")
        self.board = board
        self.bundle = bundle
        self.strain = strain


class Board:
    """A board of pins; it pulls each fibre towards a straight line and feels how hard it has to pull."""

    def __init__(self, name, grip, limit, generator):
        self.name = name
        self.grip = grip
        self.limit = limit
        self.pins = torch.rand(4 * FIBRES, POINTS, device=DEVICE, generator=generator)

    def draw(self, number, fibres):
        bend = fibres[:, 1:] - fibres[:, :-1]
        strain = bend.abs().amax().item()
        del bend
        if strain > self.limit:
            raise KnotFound(self.name, number, strain)
        fibres.mul_(1.0 - self.grip * self.pins[:FIBRES])


class Loft:
    """Raw hemp comes in, dressed hemp goes down to the spinners."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.boards = [
            Board("coarse", 0.3, 30.0, self.generator),
            Board("middle", 0.5, 12.0, self.generator),
            Board("fine", 0.7, 8.0, self.generator),
        ]
        self.knots = torch.rand(1024, device=DEVICE, generator=self.generator)
        self.dressed_mass = torch.zeros(FIBRES, device=DEVICE)

    def open_bundle(self, number):
        fibres = torch.empty(FIBRES, POINTS, device=DEVICE)
        fibres.normal_(0.0, 0.5, generator=self.generator)
        if number % 2:
            row = (number * 29) % FIBRES
            fibres[row, POINTS // 2] += (18.0, 45.0)[number // 2 % 2] + self.knots[number % 1024]
        return fibres

    def dress(self, number):
        fibres = self.open_bundle(number)
        for board in self.boards:
            board.draw(number, fibres)
        self.dressed_mass += fibres.abs().mean(dim=1)
        return fibres.std().item()


class Foreman:
    """Sends the bundles through the loft and writes the book."""

    def __init__(self, loft):
        self.loft = loft
        self.dressed = 0
        self.spread = 0.0
        self.turned_back = []

    def send(self, number):
        try:
            self.spread = self.loft.dress(number)
            self.dressed += 1
        except KnotFound as knot:
            self.turned_back.append(knot.with_traceback(None))

    def book(self):
        boards = Counter(knot.board for knot in self.turned_back)
        counts = ", ".join(f"{name} {count}" for name, count in sorted(boards.items()))
        worst = max((knot.strain for knot in self.turned_back[-20:]), default=0.0)
        return f"{self.dressed} dressed with spread {self.spread:.3f}, turned back: {counts}, strain {worst:.1f}"


def main():
    foreman = Foreman(Loft(seed=12))
    start = time.monotonic()
    number = 0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        foreman.send(number)
        number += 1
        if number % (3 * BUNDLES_PER_SECOND) == 0:
            print(f"bundle {number}: {foreman.book()}", flush=True)
        time.sleep(max(0.0, 1.0 / BUNDLES_PER_SECOND - (time.monotonic() - began)))
    mass = foreman.loft.dressed_mass.sum().item()
    print(f"loft shut after {number} bundles, mass {mass:.1f}, {foreman.book()}", flush=True)


if __name__ == "__main__":
    main()
