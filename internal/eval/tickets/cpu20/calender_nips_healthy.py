"""Nip supervision on the calender stack of a paper mill.

A row of load cells under the rolls gives one pressure map of the nip several times a second. The supervisor
flattens each map against the roll crown, compares it with the course of the last twelve seconds and moves the zone
actuators so that the caliper of the sheet stays even across the machine.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
ROWS, CELLS = 96, 2048
ZONES = 64
WINDOW_SECONDS = 12.0


@dataclass
class NipFrame:
    at: float
    load: np.ndarray
    mean: float


class Calender:
    """The rolls: what the load cells see for a given setting of the zone actuators."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        across = np.linspace(-1.0, 1.0, CELLS, dtype=np.float32)
        self.crown = (0.18 * across ** 2).astype(np.float32)
        self._grain = self._rng.standard_normal((64, ROWS, CELLS), dtype=np.float32)
        self._streak_at = 0.0
        self.actuators = np.zeros(ZONES, dtype=np.float32)

    def sense(self, turn):
        self._streak_at = 0.7 * np.sin(turn / 41.0)
        across = np.linspace(-1.0, 1.0, CELLS, dtype=np.float32)
        streak = 0.3 * np.exp(-((across - self._streak_at) / 0.08) ** 2)
        push = np.repeat(self.actuators, CELLS // ZONES)
        grain = self._grain[turn % len(self._grain)]
        return 1.0 + self.crown + streak.astype(np.float32) + push + 0.04 * grain


class NipHistory:
    """The course of the nip over the last seconds, in the order of measurement."""

    def __init__(self, span):
        self._span = span
        self._frames = deque()

    def record(self, frame):
        self._frames.append(frame)
        horizon = self._frames[-1].at - self._span
        while self._frames[0].at < horizon:
            self._frames.popleft()

    def recent(self, count):
        """The newest frames, at most count of them."""
        first = max(0, len(self._frames) - count)
        return [self._frames[place] for place in range(first, len(self._frames))]

    def trend(self):
        """Change of the mean load a second, from the newest frames."""
        frames = self.recent(16)
        if len(frames) < 2:
            return 0.0
        elapsed = frames[-1].at - frames[0].at
        return (frames[-1].mean - frames[0].mean) / max(elapsed, 1e-3)


class NipSupervisor:
    def __init__(self, calender):
        self._calender = calender
        self._history = NipHistory(WINDOW_SECONDS)
        self.worst_zone = 0
        self.spread = 0.0

    def flatten(self, sensed):
        """Take the crown off and bring the map to the nominal load of one."""
        return np.subtract(sensed, self._calender.crown)

    def zone_loads(self):
        frames = self._history.recent(4)
        total = np.zeros(CELLS, dtype=np.float32)
        for frame in frames:
            total += frame.load.mean(axis=0)
        return (total / len(frames)).reshape(ZONES, -1).mean(axis=1)

    def step(self, turn, now):
        load = self.flatten(self._calender.sense(turn))
        self._history.record(NipFrame(now, load, float(load.mean())))
        zones = self.zone_loads()
        error = zones - zones.mean()
        self.spread = float(error.std())
        self.worst_zone = int(np.abs(error).argmax())
        self._calender.actuators -= 0.15 * error
        np.clip(self._calender.actuators, -0.5, 0.5, out=self._calender.actuators)

    def trend(self):
        return self._history.trend()


def main():
    calender = Calender(seed=311)
    supervisor = NipSupervisor(calender)
    start = time.monotonic()
    next_print = 2.0
    turn = 0
    while (now := time.monotonic() - start) < SECONDS:
        supervisor.step(turn, now)
        turn += 1
        if now >= next_print:
            print(f"{now:6.1f} s  turn {turn}  zone spread {supervisor.spread:.4f}  "
                  f"worst zone {supervisor.worst_zone}  trend {supervisor.trend():+.4f}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, turn / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"calender run over after {turn} turns, zone spread {supervisor.spread:.4f}", flush=True)


if __name__ == "__main__":
    main()
