"""Vibration inspection of the main bearings of a ferris wheel.

Accelerometers around a bearing are recorded while the wheel turns, one inspection after the other for the hub and the
two pillars. The samples of an inspection lie in one large workspace that gets an arena of its own on the device, so
that the spectra of other work cannot break it up. From the spectra of the envelope the crew reads wear of rollers and
races.

ticket: practice
class: none
"""
import contextlib
import itertools
import math
import os
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SENSORS = 14
SAMPLES = 1 << 18
RATE = 8192.0
CHUNKS = 8
BEARINGS = ("hub", "north pillar", "south pillar")
DEFECT_HZ = {"hub": 11.0, "north pillar": 17.5, "south pillar": 23.0}
ROUNDS_PER_SECOND = 8


@dataclass(frozen=True)
class Inspection:
    """One pass of the recorder over a bearing."""

    serial: int
    bearing: str

    @property
    def label(self):
        return f"{self.bearing}/{self.serial:05d}"


class ArenaBook:
    """Memory arenas for workspaces, by the name of what they are for."""

    def __init__(self):
        self._arenas = {}

    def arena(self, name):
        if name not in self._arenas:
            self._arenas[name] = torch.cuda.MemPool() if DEVICE == "cuda" else None
        return self._arenas[name]

    @contextlib.contextmanager
    def using(self, name):
        pool = self.arena(name)
        if pool is None:
            yield
        else:
            with torch.cuda.use_mem_pool(pool):
                yield


class Recorder:
    """Stands in for the accelerometers: noise, the turning of the wheel, and the ring of a worn race."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.noise = torch.randn(SENSORS, SAMPLES, generator=self.generator, device=DEVICE)
        self.ticks = torch.arange(SAMPLES // CHUNKS, device=DEVICE) / RATE

    def chunk(self, bearing, index):
        width = SAMPLES // CHUNKS
        hiss = self.noise[:, index * width : (index + 1) * width]
        knock = torch.cos(2.0 * math.pi * DEFECT_HZ[bearing] * self.ticks).clamp_min(0.0) ** 12
        ring = torch.sin(2.0 * math.pi * 900.0 * self.ticks)
        return 0.4 * hiss + knock * ring


class Inspector:
    """Fills the workspace chunk by chunk and then reads the spectrum of the envelope."""

    def __init__(self, seed):
        self.recorder = Recorder(seed)
        self.book = ArenaBook()
        self.wear = {bearing: 0.0 for bearing in BEARINGS}
        self.finished = 0

    def workspace(self, inspection):
        with self.book.using(inspection.bearing):
            return torch.empty(SENSORS, SAMPLES, device=DEVICE)

    def envelope_peak(self, samples, bearing):
        """Strength of the line of the defect against the mean of the spectrum, over the sensors."""
        strengths = []
        for row in samples:
            coarse = row.abs().reshape(-1, 32).mean(dim=1)
            spectrum = torch.fft.rfft(coarse - coarse.mean()).abs()
            line = round(DEFECT_HZ[bearing] * SAMPLES / RATE)
            strengths.append(spectrum[line - 2 : line + 3].max() / spectrum.mean())
        return torch.stack(strengths).median().item()

    def steps(self, inspection):
        """Work of one inspection, a piece for each round."""
        space = self.workspace(inspection)
        width = SAMPLES // CHUNKS
        for index in range(CHUNKS):
            space[:, index * width : (index + 1) * width] = self.recorder.chunk(inspection.bearing, index)
            yield
        strength = self.envelope_peak(space, inspection.bearing)
        self.wear[inspection.bearing] = 0.8 * self.wear[inspection.bearing] + 0.2 * strength
        self.finished += 1


def rounds_of(inspector):
    for serial, bearing in enumerate(itertools.cycle(BEARINGS)):
        yield from inspector.steps(Inspection(serial, bearing))


def main():
    torch.set_num_threads(1)
    inspector = Inspector(seed=1893)
    rounds = rounds_of(inspector)
    started = time.monotonic()
    next_print = started + 2.0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        next(rounds)
        if beat >= next_print:
            worn = ", ".join(f"{bearing} {value:.1f}" for bearing, value in inspector.wear.items())
            print(f"{inspector.finished} inspections, lines of wear: {worn}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"wheel released after {inspector.finished} inspections", flush=True)


if __name__ == "__main__":
    main()
