"""Where does the water of a flooded cave go?

Cavers pour dye into sinks on the plateau, and fluorometers at the springs below record how it comes out. The curve at
a spring is taken to be a mixture, with weights that are not negative, of the responses of many possible passages,
each with its own speed and spreading. The weights are sought by projected gradient steps with momentum. Some curves
do not settle, as a thunderstorm had lifted the background while the dye was on its way; they are set apart and
counted sink by sink, and the others give the mean speed of the water.

ticket: practice
class: app-leak
holder: unsettled __traceback__ tb_frame
cause: exception-kept
"""
import collections
import os
import time

import numpy as np

try:
    import cupy as xp

    xp.cuda.runtime.getDeviceCount()
    DEVICE = "cuda"
except Exception:
    import numpy as xp

    DEVICE = "cpu"

SINKS = ("Raven Hole", "Milk Pot", "Long Drop", "Candle Sink", "Moss Swallet")
TIMES = 1024
SPEEDS, SPREADINGS = 64, 32
LENGTH = 2400.0
STEPS = 60
TOLERANCE = 0.25
CURVES_A_SECOND = 6


class NotSettled(Exception):
    def __init__(self, sink, misfit):
        super().__init__(f"{sink}: misfit {misfit:.3f}")
        self.sink = sink
        self.misfit = misfit


class Fluorometer:
    """Draws curves as the springs would give them."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.hours = np.linspace(0.5, 60.0, TIMES).astype(np.float32)

    def curve(self):
        total = np.zeros(TIMES, dtype=np.float32)
        for _ in range(self.random.randint(1, 4)):
            speed = self.random.uniform(60.0, 400.0)
            spreading = self.random.uniform(0.02, 0.3)
            total += response(np, self.hours, speed, spreading).astype(np.float32)
        total /= total.max()
        if self.random.rand() < 0.4:
            total += 0.8 * (np.sin(self.hours * 1.3) > 0)
        total += 0.01 * self.random.randn(TIMES)
        return total.astype(np.float32)


def response(lib, hours, speed, spreading):
    """Concentration at the spring after a pulse at the sink, for a passage of the known length."""
    reach = speed * hours
    width = spreading * LENGTH * reach
    return lib.exp(-((LENGTH - reach) ** 2) / (4 * width)) / lib.sqrt(width)


class Tracing:
    def __init__(self, hours):
        self.hours = xp.asarray(hours)[:, None]
        speeds = np.repeat(np.linspace(50.0, 450.0, SPEEDS), SPREADINGS)
        self.speeds = xp.asarray(speeds.astype(np.float32))[None, :]
        spreadings = np.tile(np.linspace(0.01, 0.35, SPREADINGS), SPEEDS)
        self.spreadings = xp.asarray(spreadings.astype(np.float32))[None, :]
        self.unsettled = []
        self.settled = 0
        self.mean_speed = 0.0

    def invert(self, sink, curve):
        lag = 0.02 * SINKS.index(sink)
        passages = response(xp, self.hours + lag, self.speeds, self.spreadings)
        passages = passages / passages.max(axis=0)  # grows
        curve = xp.asarray(curve)
        probe = xp.ones(passages.shape[1], dtype=xp.float32)
        for _ in range(6):
            probe = passages.T @ (passages @ probe)
            stiffness = xp.sqrt((probe * probe).sum())
            probe /= stiffness
        weights = xp.zeros(passages.shape[1], dtype=xp.float32)
        ahead = weights
        for step in range(STEPS):
            slope = passages.T @ (passages @ ahead - curve)
            moved = xp.maximum(ahead - slope / stiffness, 0)
            ahead = moved + step / (step + 3.0) * (moved - weights)
            weights = moved
        left = passages @ weights - curve
        misfit = float(xp.sqrt((left * left).sum() / (curve * curve).sum()))
        if misfit > TOLERANCE:
            raise NotSettled(sink, misfit)
        return float((weights * self.speeds[0]).sum() / weights.sum())

    def take(self, sink, curve):
        try:
            speed = self.invert(sink, curve)
        except NotSettled as trouble:
            self.unsettled.append(trouble)  # keeps
            return
        self.settled += 1
        self.mean_speed += (speed - self.mean_speed) / self.settled

    def tally(self):
        return collections.Counter(trouble.sink for trouble in self.unsettled)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    fluorometer = Fluorometer(23)
    tracing = Tracing(fluorometer.hours)
    print(f"{TIMES} readings a curve, {SPEEDS * SPREADINGS} passages, on {DEVICE}", flush=True)
    number = 0
    due = time.time()
    while time.time() < deadline:
        tracing.take(SINKS[number % len(SINKS)], fluorometer.curve())
        number += 1
        if number % 20 == 0:
            apart = ", ".join(f"{sink} {count}" for sink, count in sorted(tracing.tally().items()))
            print(f"curve {number}: mean speed {tracing.mean_speed:.0f} m/h; set apart: {apart}", flush=True)
        due += 1 / CURVES_A_SECOND
        pause = due - time.time()
        if pause > 0:
            time.sleep(pause)
        else:
            due = time.time()
    print(f"{number} curves, {tracing.settled} settled", flush=True)


if __name__ == "__main__":
    main()
