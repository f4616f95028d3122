"""Counts the firn layers below an airborne radar's flight lines on a glacier.

A flight line is flown in segments. The raw echoes of each segment are pulse
compressed in the frequency domain, turned into power with a correction for
the depth, and smoothed along the track; a jump of the power from one depth to
the next counts as a layer. Each segment looks back at the line that it belongs
to for the plane's height and the gain of its aerial. When a line is flown, the
mean count and the depth of the strongest layer are reported.

ticket: practice
class: app-leak
holder: segments flight_line
cause: reference-cycle
"""
import gc
import os
import time

import numpy as np

try:
    import cupy
    ON_GPU = cupy.cuda.is_available()
except ImportError:
    ON_GPU = False
xp = cupy if ON_GPU else np

TRACES = 512
DEPTHS = 1024
SEGMENTS = 3


def chirp():
    """The pulse that the transmitter sends, as its spectrum."""
    at = np.arange(DEPTHS, dtype=np.float32) / DEPTHS
    pulse = np.where(at < 0.1, np.sin(2 * np.pi * (20 + 300 * at) * at), 0.0)
    return xp.asarray(np.conj(np.fft.rfft(pulse)).astype(np.complex64))


class Segment:
    """A stretch of a flight line and what the radar saw below it."""

    def __init__(self, flight_line, index):
        self.flight_line = flight_line
        self.index = index
        self.power = None

    def compress(self, echoes, pulse):
        line = self.flight_line
        spectrum = xp.fft.rfft(echoes, axis=1) * pulse
        trace = xp.fft.irfft(spectrum, n=DEPTHS, axis=1)
        spread = xp.linspace(1.0, 3.0, DEPTHS, dtype=xp.float32) * (line.height / 400.0)
        power = (trace * spread * line.gain) ** 2
        self.power = self.smooth(power.astype(xp.float32))

    @staticmethod
    def smooth(power):
        """Mean of five neighbouring traces; the ends take what there is."""
        total = power.copy()
        total[1:] += power[:-1]
        total[2:] += power[:-2]
        total[:-1] += power[1:]
        total[:-2] += power[2:]
        return total / 5.0  # grows

    def layers(self):
        level = xp.log1p(self.power)
        jump = xp.abs(level[:, 1:] - level[:, :-1])
        return float((jump > jump.mean() * 3.0).sum()) / TRACES

    def strongest(self):
        return int(self.power.mean(axis=0).argmax())


class FlightLine:
    """One line of the survey, with its segments in order."""

    def __init__(self, number, height, gain):
        self.number = number
        self.height = height
        self.gain = gain
        self.segments = []

    def fly(self, shots, pulse):
        for index in range(SEGMENTS):
            segment = Segment(self, index)
            segment.compress(xp.asarray(shots[(self.number + index) % len(shots)]), pulse)
            self.segments.append(segment)  # keeps

    def summary(self):
        counts = [segment.layers() for segment in self.segments]
        depths = [segment.strongest() for segment in self.segments]
        return sum(counts) / len(counts), max(depths)


def recorded_shots(source):
    """A small stock of raw echoes: some reflectors at depth, and noise."""
    shots = []
    for _ in range(8):
        raw = source.standard_normal((TRACES, DEPTHS), dtype=np.float32) * 0.1
        for depth in source.integers(40, DEPTHS - 40, size=12):
            raw[:, depth:depth + 20] += source.uniform(0.2, 1.0)
        shots.append(raw)
    return shots


def survey_line(number, shots, pulse, source):
    height = float(source.uniform(350.0, 450.0))
    line = FlightLine(number, height, gain=1.0 + 0.1 * (number % 3))
    line.fly(shots, pulse)
    return line.summary()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    gc.disable()  # the recorder's clock wants an even rhythm
    source = np.random.default_rng(17)
    shots = recorded_shots(source)
    pulse = chirp()
    flown = 0
    mean_layers = 0.0
    due = time.time()
    while time.time() < end:
        due += 0.25
        layers, depth = survey_line(flown, shots, pulse, source)
        flown += 1
        mean_layers += (layers - mean_layers) / flown
        if flown % 20 == 0:
            print(f"{flown} lines flown, {mean_layers:.2f} layers a trace, strongest at {depth}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"landed after {flown} lines", flush=True)


if __name__ == "__main__":
    main()
