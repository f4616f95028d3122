"""Colour correction for the zenith of a planetarium dome.

The laser projectors drift in colour as they warm up. A network learns, from spectrometer readings under the dome, which
drive currents give the wanted star colours. Every few seconds the weights are noted, and when the lamps jump and the
error with them, the corrector goes back to the weights noted last.

ticket: practice
class: none
"""
import copy
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 4
NOTE_EVERY = 8.0
BANDS = 1024
BATCH = 24


class LaserBank:
    """Turns wanted spectra into measured ones, with a drift that goes up with the warmth of the room."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.templates = torch.rand(4096, BANDS, generator=self.generator)
        self.gain = torch.ones(BANDS)
        self.warmth = 0.0

    def warm_up(self):
        self.warmth = min(1.0, self.warmth + 0.002)
        self.gain = 1.0 + 0.1 * self.warmth * torch.sin(torch.linspace(0.0, 12.0, BANDS))

    def jump(self):
        self.gain = self.gain + 0.05 * torch.rand(BANDS, generator=self.generator)

    def readings(self):
        rows = torch.randint(0, len(self.templates), (BATCH,), generator=self.generator)
        wanted = self.templates[rows]
        noise = 0.01 * torch.randn(BATCH, BANDS, generator=self.generator)
        return wanted * self.gain + noise, wanted


class CurrentNet(nn.Module):
    """Three broad layers from a measured spectrum to corrected drive currents."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(BANDS, BANDS), nn.ReLU(),
            nn.Linear(BANDS, BANDS), nn.ReLU(),
            nn.Linear(BANDS, BANDS))

    def forward(self, spectrum):
        return spectrum + 0.1 * self.layers(spectrum)


class WeightNotes:
    """Weights the corrector can go back to."""

    def __init__(self):
        self._noted = []
        self.returns = 0

    def note(self, net, error):
        self._noted.clear()
        weights = copy.deepcopy(net.state_dict())
        self._noted.append((error, weights))

    def go_back(self, net):
        error, weights = self._noted[-1]
        net.load_state_dict(weights)
        self.returns += 1
        return error


class ColourCorrector:
    """Trains the net reading by reading and guards it against jumps."""

    def __init__(self):
        torch.manual_seed(31)
        self.bank = LaserBank(seed=12)
        self.net = CurrentNet()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.8)
        self.notes = WeightNotes()
        self.error = 0.05
        self.rounds = 0

    def step(self):
        self.bank.warm_up()
        self.rounds += 1
        if self.rounds % 90 == 0:
            self.bank.jump()
        measured, wanted = self.bank.readings()
        loss = (self.net(measured) - wanted).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        value = float(loss.detach())
        if value > 3.0 * self.error:
            self.notes.go_back(self.net)
        self.error = 0.95 * self.error + 0.05 * value
        return value


def main():
    corrector = ColourCorrector()
    started = printed = time.monotonic()
    next_note = 0.0
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        if turn - started >= next_note:
            next_note += NOTE_EVERY
            corrector.notes.note(corrector.net, corrector.error)
        value = corrector.step()
        if turn - printed >= 3.0:
            printed = turn
            print(f"reading {corrector.rounds}: error {value:.5f}, smoothed {corrector.error:.5f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    print(f"zenith corrected: error {corrector.error:.5f}, {corrector.notes.returns} returns", flush=True)


if __name__ == "__main__":
    main()
