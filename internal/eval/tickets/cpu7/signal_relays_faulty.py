"""Interlocking of a single railway line, with trains that follow the signal aspects.

The interlocking publishes the aspect of each block signal on a topic. A train that is admitted to the line subscribes
to the signals of its route, looks up its braking table with every aspect it is shown, moves from block to block, and
hands the line back behind the last signal. A new train is admitted whenever the first block of a route is free.

ticket: practice
class: host-growth
holder: handlers
cause: callbacks-left
"""
import os
import time
from collections import defaultdict
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

BLOCKS = 24
ROUTE = 6
TICK = 0.1
SPEEDS = np.linspace(1.0, 45.0, 320, dtype=np.float32)
DISTANCES = np.linspace(5.0, 2400.0, 640, dtype=np.float32)
ASPECTS = {"clear": 1.0, "caution": 0.55, "danger": 0.0}


class Interlocking:
    """Knows which block is taken and tells the handlers of a topic what its signal shows."""

    def __init__(self):
        self.handlers = defaultdict(list)
        self.taken = {}

    def subscribe(self, topic, handler):
        self.handlers[topic].append(handler)  # keeps

    def unsubscribe(self, topic, handler):
        listening = self.handlers[topic]
        if handler in listening:
            listening.remove(handler)

    def aspect(self, block):
        if block in self.taken:
            return "danger"
        return "caution" if block + 1 in self.taken else "clear"

    def publish(self):
        for block in range(BLOCKS):
            shown = self.aspect(block)
            for handler in tuple(self.handlers[f"signal/{block}"]):
                handler(shown)


class Train:
    """One train with the braking table of its weight, on a route of neighbouring blocks."""

    def __init__(self, number, first, rng):
        self.number = number
        self.route = list(range(first, first + ROUTE))
        self.position = 0
        self.speed = 20.0
        self.limits = {}
        mass = rng.uniform(180.0, 1400.0)
        grip = 0.9 + 0.2 * rng.random(DISTANCES.size, dtype=np.float32)
        effort = 2.0 * grip * DISTANCES * (0.4 + 200.0 / mass)
        self.braking = np.clip(np.sqrt(effort)[None, :] - 0.1 * SPEEDS[:, None], 0.0, 60.0)  # grows

    def admit(self, interlocking):
        interlocking.taken[self.route[0]] = self.number
        for block in self.route:
            interlocking.subscribe(f"signal/{block}", partial(self.on_aspect, block))

    def on_aspect(self, block, shown):
        if self.position >= len(self.route) or block < self.route[self.position]:
            return
        row = int(np.searchsorted(SPEEDS, self.speed))
        column = min(DISTANCES.size - 1, 90 * (1 + block - self.route[self.position]))
        self.limits[block] = ASPECTS[shown] * float(self.braking[min(row, SPEEDS.size - 1), column])

    def advance(self, interlocking):
        here = self.route[self.position]
        following = here + 1
        self.speed = 0.7 * self.speed + 0.3 * max(self.limits.get(following, 20.0), 4.0)
        if self.position + 1 < len(self.route) and following in interlocking.taken:
            return True
        del interlocking.taken[here]
        self.position += 1
        if self.position < len(self.route):
            interlocking.taken[following] = self.number
            return True
        return False

    def hand_back(self, interlocking):
        for block in self.route:
            interlocking.unsubscribe(f"signal/{block}", partial(self.on_aspect, block))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng = np.random.default_rng(3)
    interlocking = Interlocking()
    running = []
    admitted = arrived = tick = 0
    while time.time() < end:
        tick += 1
        first = (tick % 4) * ROUTE
        if first not in interlocking.taken:
            admitted += 1
            train = Train(admitted, first, rng)
            train.admit(interlocking)
            running.append(train)
        interlocking.publish()
        ahead = sorted(running, key=lambda train: -train.position)
        running = [train for train in ahead if train.advance(interlocking)]
        for train in ahead:
            if train.position == ROUTE:
                train.hand_back(interlocking)
                arrived += 1
        if tick % 30 == 0:
            pace = np.mean([train.speed for train in running]) if running else 0.0
            print(f"tick {tick}: {admitted} admitted, {arrived} arrived, mean speed {pace:.1f} m/s", flush=True)
        time.sleep(TICK)


if __name__ == "__main__":
    main()
