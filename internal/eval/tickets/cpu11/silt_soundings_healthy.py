"""A backhoe dredger works its way along a canal, reach by reach. For each reach the surveyor sounds the bed, cuts a
target profile and digs down to it in a few passes; the depth under the keel is reckoned from the water level that
the lock keepers send over the radio. Three reaches are under survey at any time, and each one listens to the level
for as long as it is being worked.

ticket: practice
class: none
"""
import math
import os
import time
from collections import deque

import numpy as np

STATIONS = 480
ACROSS = 400
DESIGN_DEPTH = 2.6
PASSES = 5


class LevelRadio:
    """Passes the level above the sill to everyone who has asked for it."""

    def __init__(self):
        self._listeners = []
        self.level = 0.0

    def subscribe(self, listener):
        self._listeners.append(listener)
        listener(self.level)

    def unsubscribe(self, listener):
        self._listeners = [known for known in self._listeners if known != listener]

    def announce(self, level):
        self.level = level
        for listener in self._listeners:
            listener(level)


class Canal:
    """The bed of the canal as it silts up between two dredgings."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        across = np.linspace(-1.0, 1.0, ACROSS)
        self.section = DESIGN_DEPTH * (1.0 - across ** 4)

    def sound(self):
        silt = self.rng.gamma(2.0, 0.22, (STATIONS // 8, ACROSS // 8))
        bed = np.kron(silt, np.ones((8, 8)))
        np.subtract(self.section, bed, out=bed)
        return bed


class Reach:
    def __init__(self, number, bed, target):
        self.number = number
        self.bed = bed
        self.target = target
        self.level = 0.0
        self.passes = 0

    def on_level(self, level):
        self.level = level

    def dig(self, bite):
        short = np.clip(self.target - self.bed, 0.0, bite)
        self.bed += short
        self.passes += 1
        return float(short.sum()) * 0.01

    @property
    def finished(self):
        return self.passes >= PASSES

    def clearance(self):
        return float(np.percentile(self.bed[:, ACROSS // 4: -ACROSS // 4], 5)) + self.level


class Dredger:
    def __init__(self, canal, radio):
        self.canal = canal
        self.radio = radio
        self.working = deque()
        self.begun = 0
        self.spoil = 0.0
        self.clearances = deque(maxlen=20)

    def take_on(self):
        self.begun += 1
        reach = Reach(self.begun, self.canal.sound(), self.canal.section)
        self.radio.subscribe(reach.on_level)
        self.working.append(reach)

    def hand_over(self, reach):
        self.radio.unsubscribe(reach.on_level)
        self.clearances.append(reach.clearance())

    def shift(self):
        while len(self.working) < 3:
            self.take_on()
        reach = self.working.popleft()
        self.spoil += reach.dig(bite=0.18)
        if reach.finished:
            self.hand_over(reach)
        else:
            self.working.append(reach)
        return reach


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    radio = LevelRadio()
    dredger = Dredger(Canal(seed=311), radio)
    started = spoken = time.monotonic()
    hour = 0
    while time.monotonic() - started < seconds:
        hour += 1
        radio.announce(0.12 * math.sin(hour / 19.0))
        reach = dredger.shift()
        if time.monotonic() - spoken > 2.0 and dredger.clearances:
            spoken = time.monotonic()
            print(f"reach {reach.number}, pass {reach.passes}: level {radio.level:+.2f} m, "
                  f"spoil {dredger.spoil:.0f} m3, least clearance {min(dredger.clearances):.2f} m", flush=True)
        time.sleep(0.05)
    done = dredger.begun - len(dredger.working)
    print(f"{done} reaches handed over after {hour} hours, {dredger.spoil:.0f} m3 of spoil", flush=True)


if __name__ == "__main__":
    main()
