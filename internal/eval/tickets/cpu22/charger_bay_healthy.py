"""A bus garage charges its electric buses over night.  The grid feed of the garage sends its load to whoever charges,
and each bus at a charger slows down or speeds up along its own charging curve.  A bus that is full leaves its bay to
the next one.

ticket: practice
class: none
"""
import collections
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
BAYS = 24
CURVE_POINTS = 160_000
FEED_KW = 1800.0


class GridFeed:
    """The feed of the garage; it tells the load factor to everyone who listens."""

    def __init__(self, limit_kw):
        self.limit_kw = limit_kw
        self.drawn_kw = 0.0
        self._listeners = []

    def subscribe(self, listener):
        self._listeners.append(listener)

    def unsubscribe(self, listener):
        self._listeners = [known for known in self._listeners if known != listener]

    def publish(self, drawn_kw):
        self.drawn_kw = drawn_kw
        factor = min(1.0, self.limit_kw / max(1.0, drawn_kw))
        for listener in self._listeners:
            listener(factor)


class Charging:
    """One bus at one bay: its curve says how much power it takes at each state of charge."""

    def __init__(self, bus, rng):
        self.bus = bus
        knee = rng.uniform(0.6, 0.85)
        soc = np.linspace(0.0, 1.0, CURVE_POINTS, dtype=np.float32)
        noise = rng.normal(1.0, 0.02, CURVE_POINTS).astype(np.float32)
        self.curve = np.where(soc < knee, 120.0, 120.0 * (1.0 - soc) / (1.0 - knee)) * noise
        self.soc = float(rng.uniform(0.1, 0.5))
        self.target = float(rng.uniform(0.7, 0.95))
        self.factor = 1.0

    def on_load(self, factor):
        self.factor = 0.7 * self.factor + 0.3 * factor

    def power(self):
        return float(self.curve[int(self.soc * (CURVE_POINTS - 1))]) * self.factor

    def charge(self, hours):
        self.soc = min(1.0, self.soc + self.power() * hours / 300.0)
        return self.soc >= self.target


class Garage:
    """Puts the waiting buses to the bays and takes out those that are charged."""

    def __init__(self, rng):
        self.rng = rng
        self.feed = GridFeed(FEED_KW)
        self.bays = [None] * BAYS
        self.next_bus = 1
        self.charged = 0
        self.log = collections.deque(maxlen=30)

    def plug_in(self, bay):
        charging = Charging(self.next_bus, self.rng)
        self.next_bus += 1
        self.bays[bay] = charging
        self.feed.subscribe(charging.on_load)

    def unplug(self, bay):
        charging = self.bays[bay]
        self.feed.unsubscribe(charging.on_load)
        self.bays[bay] = None
        self.charged += 1
        self.log.append((charging.bus, round(charging.soc, 3)))

    def step(self, hours):
        for bay in range(BAYS):
            if self.bays[bay] is None:
                self.plug_in(bay)
                break
        drawn = 0.0
        for bay, charging in enumerate(self.bays):
            if charging is None:
                continue
            drawn += charging.power()
            if charging.charge(hours):
                self.unplug(bay)
        self.feed.publish(drawn)


def main():
    rng = np.random.default_rng(2204)
    garage = Garage(rng)
    for bay in range(BAYS):
        garage.plug_in(bay)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        garage.step(hours=0.055)
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            busy = sum(1 for charging in garage.bays if charging is not None)
            print(f"charged {garage.charged:4d}  at the bays {busy:2d}  drawn {garage.feed.drawn_kw:7.1f} kW",
                  flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"morning: {garage.charged} buses charged, last {garage.log[-1] if garage.log else None}", flush=True)


if __name__ == "__main__":
    main()
