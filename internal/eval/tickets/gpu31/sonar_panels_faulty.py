"""The desk of a sonar operator. Panels are plug-ins: each shows the echoes of some directions as a waterfall, and hears
of pings and of the operator's settings from the event bus. The operator opens a panel where something moves, and
closes the oldest one when there are six.

ticket: practice
class: app-leak
holder: subscribers handlers Bus Waterfall
cause: callbacks-left
"""

import os
import random
import time
from collections import defaultdict

import cupy
import numpy as np

SAMPLES, ROWS, DIRECTIONS, MOST_PANELS = 1536, 640, 48, 6


class Bus:
    def __init__(self):
        self.subscribers = defaultdict(list)

    def subscribe(self, topic, handler):
        self.subscribers[topic].append(handler)  # keeps

    def unsubscribe(self, topic, handler):
        self.subscribers[topic].remove(handler)

    def publish(self, topic, *values):
        for handler in list(self.subscribers[topic]):
            handler(*values)


class Waterfall:
    """The newest echo takes the row of the oldest one."""

    def __init__(self, bus, direction):
        self.bus, self.direction = bus, direction
        self.gain, self.floor = 1.0, 0.0
        self.picture = cupy.zeros((ROWS, SAMPLES), dtype=cupy.float32)  # grows
        self.row = 0
        bus.subscribe("ping", self.draw)
        bus.subscribe("settings", self.adjust)

    def draw(self, echoes):
        near = echoes[max(self.direction - 1, 0):self.direction + 2]
        self.picture[self.row % ROWS] = near.mean(axis=0)
        self.row += 1

    def adjust(self, gain, floor):
        self.gain, self.floor = gain, floor

    def shown(self):
        """The share of the panel that is bright."""
        bright = self.gain * cupy.maximum(self.picture - self.floor, 0) > 0.5
        return float(bright.sum()) / max(min(self.row, ROWS) * SAMPLES, 1)

    def close(self):
        self.bus.unsubscribe("ping", self.draw)


class Sea:
    """Echoes by direction; shoals of fish drift through them."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.shoals = self.random.uniform(0, 1, size=(5, 2))

    def ping(self):
        echoes = 0.2 * self.random.standard_normal((DIRECTIONS, SAMPLES), dtype=np.float32)
        self.shoals = (self.shoals + self.random.normal(0, 0.02, size=(5, 2))) % 1
        for direction, distance in self.shoals:
            start = int(distance * (SAMPLES - 60))
            echoes[int(direction * DIRECTIONS), start:start + 60] += 1
        return np.abs(echoes)

    def busiest(self):
        return int(self.shoals[self.random.integers(5), 0] * DIRECTIONS)


def main():
    bus, sea, panels, opened, pings = Bus(), Sea(5), [], 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        bus.publish("ping", cupy.asarray(sea.ping()))
        pings += 1
        if pings % 2 == 0:
            if len(panels) == MOST_PANELS:
                panels.pop(0).close()
            panels.append(Waterfall(bus, sea.busiest()))
            opened += 1
        if random.random() < 0.1:
            bus.publish("settings", random.uniform(0.5, 2), random.uniform(0, 0.3))
        if pings % 30 == 0:
            shares = " ".join(f"{panel.direction}:{panel.shown():.3f}" for panel in panels)
            print(f"{pings} pings, {opened} panels opened, bright {shares}", flush=True)
        time.sleep(random.uniform(0.08, 0.22))


if __name__ == "__main__":
    main()
