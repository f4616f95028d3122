"""A rack railcar listens to itself on the climb: at its axles, at the pinion on the rack, and at the brake drums.

The signals are cut into frames and turned into spectra on the board computer, which looks over the last twelve
seconds of each kind. A peak that stands out of that window is reported to the driver. The brake recordings come
from a controller of its own, by way of another reader.

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
WINDOW_SECONDS = 12.0
FRAME = 256
ROUNDS_A_SECOND = 8
REPORT_EVERY = 4.0
KINDS = ("axle", "pinion", "brake")


@dataclass
class Reading:
    kind: str
    at: float
    spectrum: torch.Tensor
    peak: float


class Spectra:
    """Frames of a signal to their spectra."""

    def __init__(self):
        self._taper = torch.hann_window(FRAME, device=DEVICE)

    def of(self, frames):
        centred = (frames - frames.mean(dim=-1, keepdim=True)) * self._taper
        return torch.fft.fft(centred).abs()


class BoardSensors:
    """Accelerometers wired to the board computer."""

    def __init__(self, spectra, seed):
        self._spectra = spectra
        self._noise = torch.Generator(device=DEVICE).manual_seed(seed)
        self._hum = torch.sin(torch.arange(FRAME, device=DEVICE) * 0.37)

    def read(self, kind):
        channels = 1 if kind == "axle" else 2
        frames = torch.randn(channels, 128, FRAME, generator=self._noise, device=DEVICE) + 0.5 * self._hum
        spectrum = self._spectra.of(frames)
        return Reading(kind, time.monotonic(), spectrum, float(spectrum.max()))


class BrakeController:
    """The controller of the brakes, which hands over a recording of three drums at once."""

    def __init__(self, spectra, seed):
        self._spectra = spectra
        self._noise = torch.Generator(device=DEVICE).manual_seed(seed)
        self._squeal = torch.sin(torch.arange(FRAME, device=DEVICE) * 1.9)

    def collect(self):
        frames = torch.randn(3, FRAME, FRAME, generator=self._noise, device=DEVICE) + 0.8 * self._squeal
        spectrum = self._spectra.of(frames)
        return Reading("brake", time.monotonic(), spectrum, float(spectrum.max()))


class ClimbMonitor:
    """The window over the last seconds, and what stands out of it."""

    def __init__(self):
        self._windows = {kind: deque() for kind in KINDS}
        self.outstanding = 0

    def add(self, reading):
        window = self._windows[reading.kind]
        self._expire(window)
        if window and reading.peak > 1.15 * self._usual(window):
            self.outstanding += 1
        window.append(reading)

    def _expire(self, window):
        horizon = time.monotonic() - WINDOW_SECONDS
        while window and window[0].at < horizon:
            window.popleft()

    def _usual(self, window):
        return sum(reading.peak for reading in window) / len(window)

    def loudest_bin(self, kind):
        """The bin that is loudest in the spectra of the newest readings of a kind."""
        newest = list(self._windows[kind])[-6:]
        if not newest:
            return 0
        total = sum(reading.spectrum.mean(dim=(0, 1)) for reading in newest)
        return int(total[: FRAME // 2].argmax())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(61)
    spectra = Spectra()
    sensors = BoardSensors(spectra, seed=62)
    brakes = BrakeController(spectra, seed=63)
    monitor = ClimbMonitor()
    start = time.monotonic()
    next_report = start + REPORT_EVERY
    rounds = 0
    while time.monotonic() - start < SECONDS:
        begun = time.monotonic()
        monitor.add(sensors.read("axle"))
        monitor.add(sensors.read("pinion"))
        if rounds % 2 == 0:
            monitor.add(brakes.collect())
        rounds += 1
        if begun >= next_report:
            next_report += REPORT_EVERY
            bins = ", ".join(f"{kind} bin {monitor.loudest_bin(kind)}" for kind in KINDS)
            print(f"round {rounds}: {bins}, outstanding peaks {monitor.outstanding}", flush=True)
        time.sleep(max(0.005, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    print(f"summit reached after {rounds} rounds, {monitor.outstanding} outstanding peaks", flush=True)


if __name__ == "__main__":
    main()
