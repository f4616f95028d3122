"""Fits the slide of a trombone from recordings of a brass band.

A shared response of the instrument maps slide positions and embouchure to the spectrum of a frame. Each new phrase
gets a table of weights of its own, one row for a frame, which is fitted together with the response in a few steps of
Adam. The error of the phrase and the mean slide position go into the band's practice report.

ticket: practice
class: app-leak
holder: _solver
cause: optimizer-groups-added
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.2
FRAMES = 1365
CONTROLS = 64
PARTIALS = 48
STEPS = 3


class HornResponse(nn.Module):
    """What the bell radiates for a row of controls."""

    def __init__(self):
        super().__init__()
        self.bore = nn.Linear(CONTROLS, 96)
        self.bell = nn.Linear(96, PARTIALS)

    def forward(self, controls):
        return self.bell(torch.tanh(self.bore(controls)))


class PhraseSource:
    """Spectra of played phrases: glissandi between two positions with breath noise."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.partials = torch.arange(1, PARTIALS + 1, device=DEVICE, dtype=torch.float32)
        self.played = 0

    def next_phrase(self):
        ends = torch.rand(2, generator=self.generator, device=DEVICE) * 6.0 + 1.0
        time_axis = torch.linspace(0.0, 1.0, FRAMES, device=DEVICE).unsqueeze(1)
        position = ends[0] + (ends[1] - ends[0]) * time_axis
        noise = torch.randn(FRAMES, PARTIALS, generator=self.generator, device=DEVICE) * 0.05
        self.played += 1
        return torch.cos(position * self.partials * 0.3) / self.partials.sqrt() + noise


class SlideFitter:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.response = HornResponse().to(DEVICE)
        self._solver = torch.optim.Adam(self.response.parameters(), lr=2e-3)
        self.errors = 0.0
        self.fitted = 0

    def open_phrase(self):
        controls = nn.Parameter(torch.randn(FRAMES, CONTROLS, device=DEVICE) * 0.1)  # grows
        self._solver.add_param_group({"params": [controls], "lr": 5e-2})  # keeps
        return controls

    def fit(self, spectrum):
        controls = self.open_phrase()
        for _ in range(STEPS):
            self._solver.zero_grad(set_to_none=True)
            misfit = (self.response(controls) - spectrum).square().mean()
            penalty = (controls[1:] - controls[:-1]).square().mean()
            (misfit + 0.1 * penalty).backward()
            self._solver.step()  # grows keeps
        self._solver.zero_grad(set_to_none=True)
        self.errors += float(misfit)
        self.fitted += 1
        position = float(controls.detach()[:, 0].sigmoid().mean()) * 6.0 + 1.0
        return position

    def mean_error(self):
        return self.errors / max(1, self.fitted)


def main():
    torch.set_num_threads(1)
    source = PhraseSource(seed=31)
    fitter = SlideFitter(seed=8)
    start = time.monotonic()
    rounds = 0
    position = 1.0
    next_print = 3.0
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        phrase_position = fitter.fit(source.next_phrase())
        position += 0.1 * (phrase_position - position)
        rounds += 1
        if now >= next_print:
            print(f"{now:5.1f} s phrases {fitter.fitted} error {fitter.mean_error():.4f} "
                  f"slide near position {position:.2f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"practice over: {source.played} phrases, error {fitter.mean_error():.4f}", flush=True)


if __name__ == "__main__":
    main()
