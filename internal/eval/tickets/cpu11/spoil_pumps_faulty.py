"""A cutter dredger pumps the silt of a canal as slurry through a floating pipe to the settling basin. The pump master
works through the bed section by section: the slurry of a section is mixed with water, its friction along the pipe is
reckoned, and the pump either pushes it through or stalls on a plug of clay. After a stall the pipe is flushed and
the mixture thinned; the last stall is held on the board for the next watch.

ticket: practice
class: host-growth
holder: last_stall
cause: exception-kept
"""
import os
import time
from collections import Counter, deque

import numpy as np

PIPE = 700
GRAINS = 160


class PumpStalled(RuntimeError):
    """The pump could not hold its pressure in a section of the bed."""

    def __init__(self, section, pressure, metre):
        super().__init__(f"section {section}: {pressure:.1f} bar needed, plug at {metre} m")
        self.section = section
        self.pressure = pressure
        self.metre = metre


class Bed:
    """The bed in front of the cutter: sand for the most part, with lenses of clay."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.section = 0
        self.sizes = np.geomspace(0.002, 2.0, GRAINS)

    def cut(self):
        self.section += 1
        clay = self.rng.beta(2.0, 3.0)
        sieve = np.exp(-np.log(self.sizes / (0.4 - 0.35 * clay)) ** 2)
        return self.section, clay, sieve / sieve.sum()


class Pipeline:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.wear = np.zeros(PIPE)

    def friction(self, sieve, thinning):
        settling = self.rng.gamma(3.0, 0.33, (PIPE, GRAINS))  # grows
        settling *= sieve / thinning
        return settling


class PumpMaster:
    PRESSURE = 7.4

    def __init__(self, bed, pipeline):
        self.bed = bed
        self.pipeline = pipeline
        self.thinning = 1.0
        self.last_stall = None
        self.tally = Counter()
        self.pressures = deque(maxlen=40)
        self.delivered = 0.0

    def push(self, section, clay, sieve):
        losses = self.pipeline.friction(sieve, self.thinning)
        along = losses.sum(axis=1)
        needed = 5.0 + 6.0 * clay * float(along.mean())
        self.pressures.append(needed)
        if needed > self.PRESSURE:
            raise PumpStalled(section, needed, int(along.argmax())) from self.last_stall  # keeps
        self.pipeline.wear += 1e-4 * along
        return 40.0 / self.thinning

    def flush(self, stall):
        self.last_stall = stall  # keeps
        self.thinning = min(1.25, self.thinning + 0.02)
        self.tally["stalled"] += 1

    def work_section(self):
        section, clay, sieve = self.bed.cut()
        try:
            self.delivered += self.push(section, clay, sieve)
        except PumpStalled as stall:
            self.flush(stall)
            return False
        self.tally["pumped"] += 1
        self.thinning = max(0.95, self.thinning - 0.02)
        return True

    def board(self):
        if self.last_stall is None:
            return "no stall yet"
        return str(self.last_stall)

    def mean_pressure(self):
        return sum(self.pressures) / max(1, len(self.pressures))


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    master = PumpMaster(Bed(seed=42), Pipeline(seed=43))
    started = spoken = time.monotonic()
    while time.monotonic() - started < seconds:
        if not master.work_section():
            time.sleep(0.02)
        if time.monotonic() - spoken > 2.0:
            spoken = time.monotonic()
            print(f"{master.delivered:.0f} m3 in the basin, mean {master.mean_pressure():.1f} bar, "
                  f"mixture {master.thinning:.2f}; {master.board()}", flush=True)
        time.sleep(0.06)
    print(f"watch over: {master.tally['pumped']} sections pumped, {master.tally['stalled']} stalls, "
          f"wear {1000 * master.pipeline.wear.max():.1f}", flush=True)


if __name__ == "__main__":
    main()
