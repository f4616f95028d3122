"""A sweep over the firing of a tile in a kiln: the burner's temperature and the rate of heating are varied, the heat
equation is solved through the tile, and the best firing is the one with the least strain. The fields of the runs go to
the log in case that something goes wrong: the debug records are written out by the score.

ticket: practice
class: none
"""

import logging
import logging.handlers
import os
import random
import sys
import tempfile
import time

import torch

ROWS, COLUMNS, STEPS = 256, 512, 60
DIFFUSION = 0.2

log = logging.getLogger("kiln")


def set_up_log():
    """Messages for the screen, and a file for the runs."""
    log.setLevel(logging.DEBUG)
    log.propagate = False
    screen = logging.StreamHandler(sys.stdout)
    screen.setLevel(logging.INFO)
    log.addHandler(screen)
    file = logging.FileHandler(os.path.join(tempfile.mkdtemp(), "kiln.log"), delay=True)
    log.addHandler(logging.handlers.MemoryHandler(20, logging.ERROR, file, flushOnClose=False))


def laplacian(field):
    inner = field[1:-1, :-2] + field[1:-1, 2:] + field[:-2, 1:-1] + field[2:, 1:-1]
    return inner - 4 * field[1:-1, 1:-1]


@torch.no_grad()
def fire(burner, rate, device):
    """Heat the tile from its edges. It returns the last field and the greatest strain on the way."""
    field = torch.full((ROWS, COLUMNS), 293.0, device=device)
    strain = torch.zeros((), device=device)
    for step in range(STEPS):
        edge = min(burner, 293.0 + rate * step)
        field[0] = field[-1] = edge
        field[:, 0] = field[:, -1] = edge
        field[1:-1, 1:-1] += DIFFUSION * laplacian(field)
        strain = torch.maximum(strain, (field[1:] - field[:-1]).abs().max())
    return field, strain.item()


class Sweep:
    def __init__(self, device):
        self.device = device
        self.best, self.firing, self.runs = float("inf"), None, 0

    def run(self):
        burner, rate = random.uniform(1_200.0, 1_500.0), random.uniform(10.0, 60.0)
        field, strain = fire(burner, rate, self.device)
        profile = field.cpu().numpy()
        log.debug("burner %.0f K, rate %.1f K: strain %.2f, field\n%s", burner, rate, strain, profile)
        if not 0 < strain < 5_000:
            log.error("the run with %.0f K and %.1f K has come apart", burner, rate)
        score = strain + 0.05 * abs(profile.mean() - 400.0)
        self.runs += 1
        if score < self.best:
            self.best, self.firing = score, (burner, rate)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    set_up_log()
    sweep = Sweep(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sweep.run()
        if sweep.runs % 20 == 0:
            log.info("%d runs: best score %.2f at %.0f K and %.1f K a step", sweep.runs, sweep.best, *sweep.firing)
        time.sleep(random.uniform(0.03, 0.08))


if __name__ == "__main__":
    main()
