"""The field around moving charges is solved for on a grid, again and again, and the grid is made a little finer for the
next time. Nothing of a solution stays but a small picture. Each time the arrays are larger than all before, so that
what the allocator has got back does not do.

ticket: practice
class: pool-growth
holder:
cause: outgrown-blocks pool-never-trims size-class-misses
"""

import os
import time

import torch
from torch import nn


class Solver:
    """Some sweeps of Jacobi for the equation of Poisson on a square."""

    def __init__(self, device, side=1680):
        self.device, self.first, self.side = device, side, side

    def charges(self, side):
        rows, columns = torch.meshgrid(*[torch.linspace(0, 1, side, device=self.device)] * 2, indexing="ij")
        x, y = torch.rand(2).tolist()
        return torch.exp(-200 * ((rows - x).square() + (columns - y).square()))  # grows

    @torch.no_grad()
    def solve(self, sweeps=6):
        source = self.charges(self.side)
        field = torch.zeros_like(source)
        for _ in range(sweeps):
            around = field[2:, 1:-1] + field[:-2, 1:-1]  # grows
            around = around + field[1:-1, 2:]  # grows
            around = around + field[1:-1, :-2]  # grows
            field = nn.functional.pad(0.25 * (around + source[1:-1, 1:-1]), (1, 1, 1, 1))  # grows
        picture = nn.functional.adaptive_avg_pool2d(field[None], 64)[0].cpu()
        self.refine()
        return picture

    def refine(self):
        self.side += 44


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    solver, solved = Solver("cuda" if torch.cuda.is_available() else "cpu"), 0
    while time.time() < end:
        side, started = solver.side, time.time()
        picture = solver.solve()
        solved += 1
        if solved % 4 == 0:
            print("grid of", side, "strongest", round(float(picture.max()), 4), flush=True)
        time.sleep(max(0.2, 1.4 - (time.time() - started)))


if __name__ == "__main__":
    main()
