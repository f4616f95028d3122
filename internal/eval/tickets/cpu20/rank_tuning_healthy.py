"""Tuning aid for the voicer in an organ loft.

The voicer sounds one pipe of a rank after another in front of a microphone. From each recording the aid makes a
sonogram, finds the fundamental and says how many cents the pipe is off. As the loft warms up, the whole rank
drifts; the drift comes from the readings of the last fifteen seconds, the brightness of the tone from the sonograms
of the last few pipes.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
RATE = 16_000
FRAME, HOP, FRAMES = 2048, 256, 128
PIPES = 61
DRIFT_SECONDS = 15.0


@dataclass
class Reading:
    at: float
    pipe: int
    cents: float
    sonogram: np.ndarray


class Rank:
    """Sixty-one pipes of one stop, each with its own error of tuning and its own breath."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self.nominal = 110.0 * 2.0 ** (np.arange(PIPES) / 12.0)
        self._off = self._rng.normal(0.0, 6.0, PIPES)
        self._length = FRAME + HOP * (FRAMES - 1)
        self._breath = self._rng.standard_normal((160, self._length), dtype=np.float32)
        self._moment = np.arange(self._length) / RATE

    def sound(self, pipe, warmth):
        pitch = self.nominal[pipe] * 2.0 ** ((self._off[pipe] + warmth) / 1200.0)
        tone = np.sin(2.0 * np.pi * pitch * self._moment)
        tone += 0.4 * np.sin(4.0 * np.pi * pitch * self._moment)
        return tone + 0.1 * self._breath[self._rng.integers(len(self._breath))]

    def retune(self, pipe, cents):
        self._off[pipe] -= 0.5 * cents


class SonogramMaker:
    def __init__(self):
        self._window = np.hanning(FRAME).astype(np.float32)

    def make(self, recording):
        frames = np.lib.stride_tricks.sliding_window_view(recording, FRAME)[::HOP]
        return np.abs(np.fft.rfft(frames * self._window, axis=1))

    def pitch(self, sonogram, near):
        """The peak around the nominal pitch, made finer with its two neighbours."""
        mean = sonogram.mean(axis=0)
        first = max(1, int(0.9 * near * FRAME / RATE))
        last = int(1.1 * near * FRAME / RATE) + 2
        peak = first + int(mean[first:last].argmax())
        left, top, right = np.log(mean[peak - 1:peak + 2] + 1e-9)
        return (peak + 0.5 * (left - right) / (left - 2.0 * top + right)) * RATE / FRAME


class TuningBook:
    """The readings of the rank, and what the voicer wants to know of them."""

    def __init__(self, drift_seconds):
        self._drift_seconds = drift_seconds
        self._readings = []

    def enter(self, reading):
        self._readings.append(reading)

    def drift(self, now):
        recent = [reading for reading in self._readings if now - reading.at <= self._drift_seconds]
        self._readings = recent
        return float(np.mean([reading.cents for reading in recent])) if recent else 0.0

    def brightness(self):
        last = self._readings[-5:]
        shares = [reading.sonogram[:, 200:].mean() / reading.sonogram.mean() for reading in last]
        return float(np.mean(shares))


class TuningAid:
    def __init__(self, seed):
        self._rank = Rank(seed)
        self._maker = SonogramMaker()
        self._book = TuningBook(DRIFT_SECONDS)
        self.line = ""

    def test_pipe(self, turn, now):
        pipe = (turn * 7) % PIPES
        warmth = 5.0 * np.sin(now / 30.0)
        sonogram = self._maker.make(self._rank.sound(pipe, warmth))
        nominal = self._rank.nominal[pipe]
        cents = 1200.0 * np.log2(self._maker.pitch(sonogram, nominal) / nominal)
        self._book.enter(Reading(now, pipe, float(cents), sonogram))
        drift = self._book.drift(now)
        self._rank.retune(pipe, cents - drift)
        self.line = f"pipe {pipe + 1}  {cents:+.1f} cents  drift {drift:+.2f}  bright {self._book.brightness():.3f}"


def main():
    aid = TuningAid(seed=440)
    start = time.monotonic()
    next_print, turn = 2.0, 0
    while (now := time.monotonic() - start) < SECONDS:
        aid.test_pipe(turn, now)
        turn += 1
        if now >= next_print:
            print(f"{now:6.1f} s  {aid.line}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, turn / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"rank done: {turn} readings, {aid.line}", flush=True)


if __name__ == "__main__":
    main()
