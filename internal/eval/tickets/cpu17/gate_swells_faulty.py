"""The keeper's desk at a ship lock on a tidal canal watches the swell against the mitre gates.
Pressure cells on the gate leaves and a sonar head over the sill report several times a second, and the
desk judges from the last ten seconds of each whether the gates may be unlatched for the waiting barges.

ticket: practice
class: host-growth
holder: _soundings
cause: buffer-without-bound
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
WINDOW_S = 10.0
REPORT_EVERY_S = 2.0
CELLS, CELL_SAMPLES = 48, 1200
BEAMS, BINS = 192, 560
SAFE_SWELL_M = 0.21


@dataclass
class PressureReading:
    at: float
    heads: np.ndarray


@dataclass
class Sounding:
    stamp_ms: float
    echoes: np.ndarray


class TidalReach:
    """Water outside the gates: a slow tide with wash from passing ships."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._washes = deque(maxlen=6)

    def pass_ship(self, now):
        self._washes.append((now, self._rng.uniform(0.05, 0.3), self._rng.uniform(1.5, 3.0)))

    def level(self, times):
        level = 3.2 + 0.4 * np.sin(2 * np.pi * times / 600.0)
        for began, height, period in self._washes:
            age = np.maximum(times - began, 0.0)
            level = level + height * np.exp(-age / 4.0) * np.sin(2 * np.pi * age / period)
        return level

    def press(self, now):
        times = now + np.linspace(0.0, 0.1, CELL_SAMPLES)
        depths = np.linspace(0.2, 2.9, CELLS)[:, None]
        heads = (self.level(times)[None, :] - depths).astype(np.float32)
        heads += self._rng.standard_normal((CELLS, CELL_SAMPLES), dtype=np.float32) * 0.01
        return heads

    def ping(self, now):
        surface = float(self.level(np.array([now]))[0])
        echoes = self._rng.random((BEAMS, BINS), dtype=np.float32)  # grows
        centre = int(np.clip(surface / 5.0, 0.05, 0.95) * BINS)
        echoes[:, max(centre - 3, 0):centre + 4] += 4.0
        return echoes


class KeeperDesk:
    """Collects what the cells and the sonar report and gives the verdict on the gates."""

    def __init__(self):
        self._opened = time.monotonic()
        self._pressures = deque()
        self._soundings = deque()

    def clock(self):
        return time.monotonic() - self._opened

    def take_pressure(self, reading):
        self._pressures.append(reading)

    def take_sounding(self, sounding):
        self._soundings.append(sounding)  # keeps

    def slide(self):
        horizon = self.clock() - WINDOW_S
        while self._pressures and self._pressures[0].at < horizon:
            self._pressures.popleft()
        while self._soundings and self._soundings[0].stamp_ms < horizon:
            self._soundings.popleft()

    def swell(self):
        means = [float(reading.heads.mean()) for reading in list(self._pressures)[-30:]]
        return max(means) - min(means) if means else 0.0

    def surface(self):
        latest = self._soundings[-1].echoes
        return float(latest.mean(axis=0).argmax()) / BINS * 5.0

    def verdict(self):
        return "unlatch" if self.swell() < SAFE_SWELL_M else "hold"


def main():
    reach = TidalReach(seed=31)
    traffic = np.random.default_rng(32)
    desk = KeeperDesk()
    next_report = REPORT_EVERY_S
    verdicts = {"unlatch": 0, "hold": 0}
    while desk.clock() < SECONDS:
        began = desk.clock()
        if traffic.random() < 0.05:
            reach.pass_ship(began)
        desk.take_pressure(PressureReading(began, reach.press(began)))
        desk.take_sounding(Sounding(began * 1000.0, reach.ping(began)))
        desk.slide()
        verdicts[desk.verdict()] += 1
        if began >= next_report:
            print(f"{began:6.1f} s  swell {desk.swell():.3f} m  surface {desk.surface():.2f} m  "
                  f"{desk.verdict()}", flush=True)
            next_report += REPORT_EVERY_S
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (desk.clock() - began)))
    print(f"watch ends: {verdicts['unlatch']} times clear, {verdicts['hold']} times held", flush=True)


if __name__ == "__main__":
    main()
