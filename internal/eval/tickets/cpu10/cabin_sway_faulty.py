"""Sway monitor of a cable car line.

An accelerometer on the hanger of a cabin is read in blocks, the blocks are put together to windows, and each
window is turned into spectrograms of the three axes. The last three windows are compared, so that a pendulum
motion that builds up over a span is reported to the machine room.

ticket: practice
class: host-growth
holder: recent SwayMonitor
cause: results-kept
"""
import itertools
import os
import time
from collections import deque

import numpy as np

RATE = 17000
BLOCK = 2048
BLOCKS_A_WINDOW = 10
FRAME = 1024
HOP = 32
COMPARED = 3
PACE = 0.12


class Accelerometer:
    """Three axes of the hanger: pendulum, rope vibration and noise."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.clock = 0
        self.wind = 0.4

    def read(self):
        t = (self.clock + np.arange(BLOCK, dtype=np.float32)) / RATE
        self.clock += BLOCK
        self.wind = float(np.clip(self.wind + self.rng.normal(0, 0.05), 0.1, 1.5))
        along = 0.1 * np.sin(2 * np.pi * 210 * t)
        across = self.wind * np.sin(2 * np.pi * 33 * t)
        upright = 0.05 * np.sin(2 * np.pi * 640 * t)
        block = np.stack([along, across, upright])
        return (block + self.rng.normal(0, 0.02, block.shape)).astype(np.float32)


def windows(sensor, end):
    """Yields windows of samples, put together from paced blocks, until the time is over."""
    while True:
        blocks = []
        for _ in range(BLOCKS_A_WINDOW):
            if time.time() >= end:
                return
            blocks.append(sensor.read())
            time.sleep(PACE)
        yield np.concatenate(blocks, axis=1)


def spectrogram(window):
    """Magnitudes and phases of overlapping frames, for each of the axes."""
    frames = np.lib.stride_tricks.sliding_window_view(window, FRAME, axis=1)[:, ::HOP]
    taper = np.hanning(FRAME).astype(np.float32)
    magnitudes, phases = [], []
    for axis in frames:
        lines = np.fft.rfft(axis * taper, axis=1).astype(np.complex64)
        magnitudes.append(np.abs(lines))
        phases.append(np.angle(lines))
    return np.stack(magnitudes), np.stack(phases)  # grows


class SwayMonitor:
    def __init__(self):
        self.recent = deque()
        self.windows_seen = 0
        self.alarms = 0

    def take(self, window):
        magnitudes, phases = spectrogram(window)
        envelope = np.abs(window).max(axis=1)
        self.recent.append((magnitudes, phases, envelope))  # keeps
        self.windows_seen += 1

    def pendulum(self):
        """Strength of the lowest lines across the rope, for the windows that are compared, newest first."""
        newest = itertools.islice(reversed(self.recent), COMPARED)
        return [float(magnitudes[1, :, 1:4].mean()) for magnitudes, _, _ in newest]

    def coherence(self):
        """How steady the phase of the strongest line is over the newest window."""
        magnitudes, phases, _ = self.recent[-1]
        line = int(magnitudes[1].mean(axis=0).argmax())
        steps = np.diff(np.unwrap(phases[1, :, line]))
        return float(1.0 / (1.0 + steps.std()))

    def judge(self):
        levels = self.pendulum()
        builds_up = len(levels) == COMPARED and levels[0] > 1.2 * levels[1] > 1.4 * levels[2]
        if builds_up:
            self.alarms += 1
        return levels[0], builds_up


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    sensor = Accelerometer(seed=17)
    monitor = SwayMonitor()
    for window in windows(sensor, end):
        monitor.take(window)
        level, builds_up = monitor.judge()
        if monitor.windows_seen % 2 == 0 or builds_up:
            print(f"window {monitor.windows_seen}: pendulum {level:.2f}, coherence {monitor.coherence():.2f}, "
                  f"alarms {monitor.alarms}", flush=True)
    print(f"line closed after {monitor.windows_seen} windows", flush=True)


if __name__ == "__main__":
    main()
