"""A puppet workshop fits the mechanism of a talking head: sixteen levers behind the mask pull brow, lids and jaw.

A small network learns from a bench of measured heads how the lever settings shape the face as a depth picture. Between
lessons the carver has a rehearsal row of settings shown, to judge whether the grimaces come alive.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 12
LEVERS = 16
SIDE = 64
HEADS = 384
REHEARSAL = 32


class Bench:
    """Measured heads: lever settings and the depth picture that the gauge took of each."""

    def __init__(self, generator):
        self.generator = generator
        self.settings = torch.rand(HEADS, LEVERS, generator=generator) * 2.0 - 1.0
        self.faces = self._measure(self.settings)

    def _measure(self, settings):
        grid = torch.linspace(-1.0, 1.0, SIDE)
        across, down = grid[None, :], grid[:, None]
        faces = torch.zeros(len(settings), SIDE, SIDE)
        for lever in range(LEVERS):
            x = -0.75 + 0.5 * (lever % 4)
            y = -0.75 + 0.5 * (lever // 4)
            bump = torch.exp(-((across - x) ** 2 + (down - y) ** 2) / 0.08)
            faces += settings[:, lever, None, None] * bump
        return torch.tanh(faces).flatten(1)

    def lesson(self, size):
        picks = torch.randint(0, HEADS, (size,), generator=self.generator)
        return self.settings[picks], self.faces[picks]

    def rehearsal_row(self):
        start = torch.rand(1, LEVERS, generator=self.generator) * 2.0 - 1.0
        end = torch.rand(1, LEVERS, generator=self.generator) * 2.0 - 1.0
        share = torch.linspace(0.0, 1.0, REHEARSAL)[:, None]
        return start * (1.0 - share) + end * share


class Carver:
    """Trains the head and looks at the grimaces that it would make."""

    def __init__(self, bench):
        self.bench = bench
        self.net = nn.Sequential(
            nn.Linear(LEVERS, 96), nn.GELU(), nn.Linear(96, 192), nn.GELU(), nn.Linear(192, SIDE * SIDE), nn.Tanh())
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.shown = []
        self.error = 0.0
        self.lessons = 0

    def teach(self):
        settings, faces = self.bench.lesson(48)
        loss = nn.functional.mse_loss(self.net(settings), faces)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.error += 0.05 * (loss.item() - self.error)
        self.lessons += 1

    @torch.no_grad()
    def rehearse(self):
        """Play one row of settings from grimace to grimace."""
        row = self.bench.rehearsal_row()
        faces = self.net(row)
        self.shown.append(faces)

    def liveliness(self):
        """How far the faces of the latest rehearsals move from one setting to the next."""
        latest = self.shown[-6:]
        steps = [(row[1:] - row[:-1]).abs().mean().item() for row in latest]
        self.shown.clear()
        return sum(steps) / max(len(steps), 1)


def brow_asymmetry(net):
    """Difference between the pull of the left and the right brow levers at rest."""
    with torch.no_grad():
        rest = torch.zeros(2, LEVERS)
        rest[0, 0] = 0.5
        rest[1, 3] = 0.5
        left, right = net(rest).view(2, SIDE, SIDE)
        return (left - right.flip(1)).abs().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(615)
    generator = torch.Generator().manual_seed(616)
    carver = Carver(Bench(generator))
    began = time.monotonic()
    next_line = 2.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        carver.teach()
        carver.rehearse()
        if now >= next_line:
            print(f"{now:6.1f} s  lessons {carver.lessons:5d}  error {carver.error:.4f}"
                  f"  liveliness {carver.liveliness():.4f}  asymmetry {brow_asymmetry(carver.net):.4f}", flush=True)
            next_line += 2.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    print(f"the head is fitted after {carver.lessons} lessons, error {carver.error:.4f}", flush=True)


if __name__ == "__main__":
    main()
