"""Clapper trials in a bell foundry.

A freshly cast bell hangs in the trial frame and is struck ten times a second by a pneumatic clapper. Each blow gives a
spectrogram that is compared with the founder's bank of partial tones; the contact time and the tuning offset are
judged over the blows of the last six seconds, so that a single glancing blow does not spoil the verdict.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

FRAMES, BINS = 150, 1024
PARTIALS = ("hum", "prime", "tierce", "quint", "nominal")


@dataclass(frozen=True)
class TrialPlan:
    blows_per_s: float = 10.0
    window_ms: float = 6000.0
    report_s: float = 3.0
    bank_size: int = 60


@dataclass
class Blow:
    stamp: float
    spectrogram: torch.Tensor
    contact_ms: float


class PartialBank:
    """Reference spectra for the five partials at many casting weights."""

    def __init__(self, size, generator):
        self.spectra = torch.rand(size, len(PARTIALS), 32, BINS, generator=generator, device=DEVICE)
        self.profile = self.spectra.mean(dim=(0, 2))

    def offsets(self, spectrum):
        weights = self.profile * spectrum
        return weights.sum(dim=1) / self.profile.sum(dim=1)


class BlowWindow:
    """The blows on which the present verdict rests, oldest first."""

    def __init__(self):
        self._blows = deque()

    def __len__(self):
        return len(self._blows)

    def add(self, blow):
        self._blows.append(blow)

    def prune(self, max_age):
        """Take out the blows that are older than max_age seconds."""
        oldest = time.monotonic() - max_age
        while self._blows and self._blows[0].stamp < oldest:
            self._blows.popleft()

    def latest(self, count):
        return [self._blows[-i] for i in range(1, min(count, len(self._blows)) + 1)]

    def mean_contact(self):
        recent = self.latest(20)
        return sum(blow.contact_ms for blow in recent) / max(1, len(recent))


class TrialFrame:
    def __init__(self, plan, seed=7):
        self.plan = plan
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.bank = PartialBank(plan.bank_size, self.generator)
        self.decay = torch.linspace(0.0, 4.0, FRAMES, device=DEVICE).neg().exp().unsqueeze(1)
        self.window = BlowWindow()
        self.blows = 0

    def strike(self):
        noise = torch.rand(FRAMES, BINS, generator=self.generator, device=DEVICE)
        spectrogram = noise * self.decay
        contact_ms = 0.8 + 0.4 * float(spectrogram[:4].mean())
        self.blows += 1
        return Blow(time.monotonic(), spectrogram, contact_ms)

    def round(self):
        self.window.add(self.strike())
        self.window.prune(self.plan.window_ms / 1000.0)

    def verdict(self):
        recent = self.window.latest(10)
        spectrum = torch.zeros(BINS, device=DEVICE)
        for blow in recent:
            spectrum += blow.spectrogram.mean(dim=0)
        offsets = self.bank.offsets(spectrum / max(1, len(recent)))
        return dict(zip(PARTIALS, offsets.tolist()))


def main():
    torch.set_num_threads(1)
    plan = TrialPlan()
    frame = TrialFrame(plan)
    start = time.monotonic()
    due, report_due = start, start + plan.report_s
    while time.monotonic() - start < SECONDS:
        frame.round()
        now = time.monotonic()
        if now >= report_due:
            report_due += plan.report_s
            tones = " ".join(f"{name} {value:.3f}" for name, value in frame.verdict().items())
            print(f"blow {frame.blows}: contact {frame.window.mean_contact():.2f} ms, {tones}", flush=True)
        due += 1.0 / plan.blows_per_s
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"trial over after {frame.blows} blows", flush=True)


if __name__ == "__main__":
    main()
