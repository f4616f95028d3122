"""Gaping of oysters as a warning of bad water.

Thin wires on the shells of some thousand oysters report how wide each stands open. Healthy oysters open and close
in a rhythm of their own; when the water turns bad, all of them close at once. The station compares the gape of the
moment with the traces of the last quarter minute, and the rhythm, taken as a spectrum over the shells, with that of
the last few seconds.

    ticket: practice
    class: none
"""

import os
import time
from collections import deque

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
OYSTERS = 2048
SAMPLES = 64
ROUNDS_PER_SECOND = 8
TRACES = 120
RHYTHMS = 24


class Colony:
    """The oysters: each with its own pace, and all of them afraid of bad water."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator
        self.pace = (0.2 + torch.rand(OYSTERS, 1, generator=generator)).to(DEVICE)
        self.phase = (6.283 * torch.rand(OYSTERS, 1, generator=generator)).to(DEVICE)
        self.noise = torch.randn(64, OYSTERS, SAMPLES, generator=generator).to(DEVICE)
        self.rounds = 0

    def gape(self) -> torch.Tensor:
        """The last SAMPLES values of every oyster."""
        clock = torch.arange(SAMPLES, device=DEVICE) * 0.1 + 0.125 * self.rounds
        open_width = 1.0 + torch.sin(clock * self.pace + self.phase)
        if self.rounds % 90 > 80:
            open_width = open_width * 0.1
        self.rounds += 1
        return open_width + 0.05 * self.noise[self.rounds % len(self.noise)]


class TraceHistory:
    """The gape of the last quarter minute."""

    def __init__(self, span: int) -> None:
        self._traces: deque[torch.Tensor] = deque(maxlen=span)

    def add(self, trace: torch.Tensor) -> None:
        self._traces.append(trace)

    def usual_width(self) -> float:
        recent = list(self._traces)[::12]
        return sum(float(trace.mean()) for trace in recent) / len(recent)


class RhythmHistory:
    """The spectra of the last few seconds."""

    def __init__(self, span: int) -> None:
        self.span = span
        self._rhythms: list[torch.Tensor] = []

    def add(self, rhythm: torch.Tensor) -> None:
        self._rhythms.append(rhythm)
        if len(self._rhythms) > self.span:
            del self._rhythms[0]

    def usual_rhythm(self) -> torch.Tensor:
        recent = self._rhythms[-self.span:]
        total = torch.zeros(SAMPLES, device=DEVICE)
        for rhythm in recent[::4]:
            total += rhythm.mean(dim=0)
        return total / len(recent[::4])


class Station:
    """Takes the readings in and raises the alarm."""

    def __init__(self, colony: Colony) -> None:
        self.colony = colony
        self.traces = TraceHistory(TRACES)
        self.rhythms = RhythmHistory(RHYTHMS)
        self.alarms = 0

    def watch(self) -> tuple[float, float]:
        gape = self.colony.gape()
        rhythm = torch.fft.fft(gape - gape.mean(dim=1, keepdim=True), dim=1).abs()
        self.traces.add(gape)
        self.rhythms.add(rhythm)
        width = float(gape.mean()) / self.traces.usual_width()
        change = float((rhythm.mean(dim=0) - self.rhythms.usual_rhythm()).abs().mean())
        if width < 0.4:
            self.alarms += 1
        return width, change


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(19)
    station = Station(Colony(torch.Generator().manual_seed(19)))
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        width, change = station.watch()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds}: width {width:.2f}, change {change:.3f}, alarms {station.alarms}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{rounds} readings of {OYSTERS} oysters, {station.alarms} alarms", flush=True)


if __name__ == "__main__":
    main()
