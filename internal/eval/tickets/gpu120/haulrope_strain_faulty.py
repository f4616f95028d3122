"""Estimates the strain in the haul rope of a cable car from what its rollers measure.
A small network learns from stretches on which strain gauges are mounted; along the other stretches it gives the
estimate from which the wear of the rope is reckoned, with older wear counting for a little less.

ticket: practice
class: app-leak
holder: wear
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1908)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_S = 5
SECTIONS = 1344
ROLLERS = 64
HIDDEN = 128
GAUGED = 256


class StrainNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rollers = nn.Linear(ROLLERS, HIDDEN)
        self.strain = nn.Linear(HIDDEN, 1)

    def forward(self, signals):
        bent = torch.tanh(self.rollers(signals))  # grows
        return self.strain(bent).squeeze(1)


class Line:
    """The ropeway: load of the cabins and the signals which its rollers give."""

    def __init__(self):
        self._gain = torch.rand(ROLLERS, device=DEVICE) + 0.5
        self._survey = torch.rand(4096, 2048, device=DEVICE)
        self._cabin = 0

    def _load(self):
        self._cabin += 1
        row = self._survey[self._cabin % len(self._survey)]
        return row.mean()

    def stretch(self, sections):
        noise = torch.randn(sections, ROLLERS, device=DEVICE)  # grows
        return noise.mul_(self._gain).add_(self._load())

    def gauges(self, signals):
        """What strain gauges say of a stretch that has them."""
        return torch.sin(signals[:, :8]).sum(dim=1) * 0.25 + 0.5 * self._load()


class Estimator:
    def __init__(self):
        self.net = StrainNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.error = 0.0

    def learn(self, signals, strain):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.net(signals), strain)
        loss.backward()
        self.optimizer.step()
        self.error = 0.95 * self.error + 0.05 * loss.item()

    def estimate(self, signals):
        return self.net(signals)


class RopeBook:
    """The wear of the rope, and when it has to be moved on the drum."""

    LIMIT = 9.0

    def __init__(self):
        self.wear = torch.zeros((), device=DEVICE)
        self.shifts = 0

    def reckon(self, strain):
        cycles = strain.clamp(min=0.0).mean()
        self.wear = 0.98 * self.wear + 0.02 * cycles  # keeps

    def shift_if_worn(self):
        if float(self.wear) > self.LIMIT:
            self.wear = torch.zeros((), device=DEVICE)
            self.shifts += 1


def main():
    line, estimator, book = Line(), Estimator(), RopeBook()
    start = time.monotonic()
    tick = start
    said = start
    rounds = 0
    while time.monotonic() - start < SECONDS:
        gauged = line.stretch(GAUGED)
        estimator.learn(gauged, line.gauges(gauged))
        signals = line.stretch(SECTIONS)
        book.reckon(estimator.estimate(signals))
        book.shift_if_worn()
        rounds += 1
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(
                f"round {rounds}: error {estimator.error:.4f}, wear {float(book.wear):.4f}, "
                f"{book.shifts} shifts of the rope",
                flush=True,
            )
        tick += 1.0 / ROUNDS_PER_S
        time.sleep(max(0.0, tick - time.monotonic()))
    print(f"last cabin down after {rounds} rounds, wear {float(book.wear):.4f}", flush=True)


if __name__ == "__main__":
    main()
