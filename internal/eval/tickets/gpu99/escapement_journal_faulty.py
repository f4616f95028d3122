"""Timing bench of a watchmaker's workshop.

Watches lie on microphones in several positions and the bench listens to their escapements. From every sound trace it
works out the rate, the amplitude and the beat error, and writes one entry for each watch into the journal of the day.

ticket: practice
class: app-leak
holder: _pickler
cause: pickler-memo-kept
"""
import math
import os
import pickle
import tempfile
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_A_SECOND = 7.0
MICROPHONES = 4
SAMPLES = 65536
SAMPLE_RATE = 32768.0
BEATS_A_SECOND = 8.0
POSITIONS = ("dial up", "dial down", "crown left", "crown right")


class Trace:
    """What one microphone heard of one watch, and what the bench made of it."""

    def __init__(self, serial, position, sound):
        self.serial = serial
        self.position = position
        self.sound = sound
        self.rate = 0.0
        self.amplitude = 0.0
        self.beat_error = 0.0

    def measure(self, clock):
        envelope = self.sound.abs()
        phase = 2.0 * math.pi * BEATS_A_SECOND * clock
        real = float((envelope * torch.cos(phase)).mean())
        imaginary = float((envelope * torch.sin(phase)).mean())
        half = float((envelope * torch.cos(0.5 * phase)).mean())
        self.rate = 86400.0 * math.atan2(imaginary, real) / (2.0 * math.pi * BEATS_A_SECOND * 60.0)
        self.amplitude = 180.0 + 120.0 * min(1.0, float(envelope.max()) / 2.0)
        self.beat_error = 1000.0 * abs(half) / BEATS_A_SECOND

    def __getstate__(self):
        return {
            "serial": self.serial,
            "position": self.position,
            "rate": round(self.rate, 2),
            "amplitude": round(self.amplitude, 1),
            "beat_error": round(self.beat_error, 2),
        }


class Journal:
    """The entries of a day, one after the other in a scratch file."""

    def __init__(self):
        self._file = tempfile.TemporaryFile()
        self._pickler = pickle.Pickler(self._file, protocol=pickle.HIGHEST_PROTOCOL)
        self.entries = 0

    def enter(self, trace):
        self._pickler.dump(trace)  # keeps
        self.entries += 1

    def size(self):
        return self._file.tell()

    def close(self):
        self._file.close()


class Bench:
    """Four microphones with a watch on each of them."""

    def __init__(self, seed):
        self._random = torch.Generator(device=DEVICE).manual_seed(seed)
        self.clock = torch.arange(SAMPLES, device=DEVICE) / SAMPLE_RATE
        self._serial = 40000

    def listen(self):
        drift = 0.01 * torch.randn(MICROPHONES, 1, generator=self._random, device=DEVICE)
        beat = torch.frac(self.clock * BEATS_A_SECOND + drift)
        tick = torch.exp(-40.0 * beat) * torch.sin(900.0 * beat)
        hiss = torch.randn(MICROPHONES, SAMPLES, generator=self._random, device=DEVICE)
        sounds = tick + 0.02 * hiss  # grows
        traces = []
        for position, sound in zip(POSITIONS, sounds):
            trace = Trace(f"W{self._serial}", position, sound)
            trace.measure(self.clock)
            traces.append(trace)
            self._serial += 1
        return traces


def main():
    bench = Bench(seed=1675)
    journal = Journal()
    worst = 0.0
    end = time.monotonic() + SECONDS
    next_line = time.monotonic() + 2.0
    while time.monotonic() < end:
        began = time.monotonic()
        traces = bench.listen()
        for trace in traces:
            journal.enter(trace)
            worst = max(worst, abs(trace.rate))
        if began >= next_line:
            last = traces[-1]
            print(f"{journal.entries:5d} entries, {last.serial} {last.position}: {last.rate:+.2f} s/d, "
                  f"{last.amplitude:.0f} deg, {last.beat_error:.2f} ms", flush=True)
            next_line += 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - began)))
    print(f"day's journal: {journal.entries} entries in {journal.size()} bytes, worst {worst:.2f} s/d", flush=True)
    journal.close()


if __name__ == "__main__":
    main()
