"""In a restored tide mill the wheel turns from half ebb on, until the sea has risen again in the tailrace. During each
run, a recorder takes the pressure at a row of gauges in the race while the sluice stands open; after the run the head,
the power on the shaft and the roughness of the flow are worked out. The recorder's trace and the sluice are both put
back into order when they are done with, in the reverse of the order in which they were set up.

ticket: practice
class: none
"""
import math
import os
import time
from collections import deque
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

GAUGES = 24
SAMPLES = 2400
RHO_G = 9.81 * 1025.0


@dataclass
class Run:
    tide: int
    head: float
    kilowatts: float
    roughness: float


class Trace:
    """What the recorder took down in one run, one row for each gauge."""

    def __init__(self, tide, pressures):
        self.tide = tide
        self.pressures = pressures
        self.sealed = False

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.sealed = True
        return False

    def head(self):
        return float(self.pressures[:4].mean() - self.pressures[-4:].mean())

    def roughness(self):
        steps = np.diff(self.pressures, axis=1)
        return float(np.sqrt((steps * steps).mean()))


class Recorder:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.drift = np.zeros((GAUGES, 1))

    def record(self, tide, head):
        fall = np.linspace(head, 0.0, GAUGES)[:, None]
        ripple = 0.03 * np.sin(np.arange(SAMPLES) / 11.0 + tide)
        noise = self.rng.normal(0.0, 0.02, (GAUGES, SAMPLES))
        self.drift = 0.98 * self.drift + self.rng.normal(0.0, 0.001, (GAUGES, 1))
        return Trace(tide, fall + ripple + noise + self.drift)


class Sluice:
    def __init__(self):
        self.opening = 0.0
        self.lifts = 0

    @contextmanager
    def raised(self, opening):
        self.opening = opening
        self.lifts += 1
        try:
            yield self
        finally:
            self.opening = 0.0


class TideMill:
    """Holds the gear of the mill from spring to autumn."""

    def __init__(self, seed):
        self._season = ExitStack()
        self.recorder = Recorder(seed)
        self.sluice = Sluice()
        self.runs = deque(maxlen=28)
        self.tide = 0

    def __enter__(self):
        self._season.callback(self.runs.clear)
        return self

    def __exit__(self, *problem):
        return self._season.__exit__(*problem)

    def expected_head(self):
        springs = 0.5 + 0.5 * math.cos(2 * math.pi * self.tide / 28.5)
        return 1.4 + 1.1 * springs

    def grind(self):
        self.tide += 1
        with ExitStack() as run:
            sluice = run.enter_context(self.sluice.raised(opening=0.4))
            trace = run.enter_context(self.recorder.record(self.tide, self.expected_head()))
            head = trace.head()
            flow = 0.62 * sluice.opening * math.sqrt(2 * 9.81 * max(head, 0.0)) * 1.8
            kilowatts = 0.55 * RHO_G * flow * head / 1000.0
            result = Run(self.tide, head, kilowatts, trace.roughness())
        self.runs.append(result)
        return result

    def mean_power(self):
        return sum(run.kilowatts for run in self.runs) / len(self.runs)


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    started = spoken = time.monotonic()
    with TideMill(seed=1651) as mill:
        while time.monotonic() - started < seconds:
            result = mill.grind()
            if time.monotonic() - spoken > 2.0:
                spoken = time.monotonic()
                print(f"tide {result.tide}: head {result.head:.2f} m, {result.kilowatts:.1f} kW, "
                      f"roughness {result.roughness:.4f}, mean {mill.mean_power():.1f} kW", flush=True)
            time.sleep(0.07)
        mean = mill.mean_power()
    print(f"season over: {mill.tide} tides, sluice lifted {mill.sluice.lifts} times, mean {mean:.1f} kW", flush=True)


if __name__ == "__main__":
    main()
