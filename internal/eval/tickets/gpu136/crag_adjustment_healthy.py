"""Adjustment of cliff surveys.

Surveyors on ropes scan a cliff in vertical strips. Each strip comes with small errors of depth, which are fitted
against the reference shape of the crag: a raster of corrections for the strip, and one tilt that all the strips
share. A strip is worked on for half a second and is then signed off with its closing error.

    ticket: practice
    class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
ROWS, COLUMNS = 427, 512
ROUNDS_PER_STRIP = 5


class Crag:
    """Reference shape of the cliff, from which scans are drawn."""

    def __init__(self, seed):
        self.rng = torch.Generator(device=DEVICE).manual_seed(seed)
        height = torch.linspace(0.0, 9.0, ROWS, device=DEVICE).view(-1, 1)
        along = torch.linspace(0.0, 14.0, COLUMNS, device=DEVICE).view(1, -1)
        self.shape = torch.sin(height) * 0.6 + torch.cos(along * 1.7) * 0.4
        self.slope = height.expand(ROWS, COLUMNS) / 9.0

    def scan(self):
        noise = torch.randn(ROWS, COLUMNS, generator=self.rng, device=DEVICE)
        return self.shape + 0.05 * noise + 0.3 * self.slope


class Strip:
    def __init__(self, number, depth):
        self.number = number
        self.depth = depth
        self.corrections = nn.Parameter(torch.zeros(ROWS, COLUMNS, device=DEVICE))
        self.rounds = 0
        self.closing_error = None

    @property
    def settled(self):
        return self.rounds >= ROUNDS_PER_STRIP


class Adjustment:
    """Fits the strip at hand together with the tilt of the whole survey."""

    def __init__(self, crag):
        self.crag = crag
        self.tilt = nn.Parameter(torch.zeros((), device=DEVICE))
        self.optimizer = torch.optim.Adam([{"params": [self.tilt], "lr": 0.01}])
        self.strip = None
        self.signed_off = 0
        self.mean_error = 0.0

    def take_up(self, strip):
        self.strip = strip
        self.optimizer.add_param_group({"params": [strip.corrections], "lr": 0.02})

    def improve(self):
        strip = self.strip
        adjusted = strip.depth + strip.corrections - self.tilt * self.crag.slope
        misfit = (adjusted - self.crag.shape).square().mean()
        roughness = (strip.corrections[1:] - strip.corrections[:-1]).square().mean()
        loss = misfit + 0.1 * roughness
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        strip.rounds += 1
        strip.closing_error = float(misfit.detach().sqrt())

    def sign_off(self):
        strip, self.strip = self.strip, None
        self.optimizer.param_groups = [
            group for group in self.optimizer.param_groups if group["params"][0] is not strip.corrections
        ]
        self.optimizer.state.pop(strip.corrections, None)
        self.signed_off += 1
        self.mean_error += (strip.closing_error - self.mean_error) / self.signed_off
        return strip.number


def survey(adjustment):
    crag = adjustment.crag
    begun = time.monotonic()
    rounds = 0
    while time.monotonic() - begun < SECONDS:
        if adjustment.strip is None:
            adjustment.take_up(Strip(adjustment.signed_off + 1, crag.scan()))
        adjustment.improve()
        if adjustment.strip.settled:
            adjustment.sign_off()
        rounds += 1
        if rounds % 30 == 0:
            print(f"strip {adjustment.signed_off}: mean closing error {adjustment.mean_error * 100:.2f} cm, "
                  f"tilt {float(adjustment.tilt):+.4f}", flush=True)
        time.sleep(max(0.0, begun + rounds / ROUNDS_PER_SECOND - time.monotonic()))


def main():
    torch.manual_seed(12)
    adjustment = Adjustment(Crag(seed=640))
    survey(adjustment)
    print(f"{adjustment.signed_off} strips signed off, mean error {adjustment.mean_error * 100:.2f} cm", flush=True)


if __name__ == "__main__":
    main()
