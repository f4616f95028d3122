"""Vibration of the pylons of a ropeway, with CuPy.

Sensors on the pylons send blocks of acceleration to the device several times a second. An evaluation thread comes round
every three seconds, takes the blocks that have arrived, and works out per pylon how strongly it shakes and whether the
sheaves rattle.

ticket: practice
class: app-leak
holder: inbox
cause: unbounded-queue
"""
import os
import queue
import threading
import time

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
VALLEY = ("bridge", "orchard", "chapel")
RIDGE = ("larch", "saddle", "cross")
PYLONS = VALLEY + RIDGE
ROUNDS_A_SECOND = 4
VISIT_S = 3
SPARE_BLOCKS = 12
SAMPLES = 131_072


class Block:
    """Acceleration of one pylon over a quarter of a second, all channels one after the other."""

    def __init__(self, pylon, number, samples):
        self.pylon = pylon
        self.number = number
        self.samples = samples


class Sensors:
    """Makes the blocks of all the pylons out of recorded shakes."""

    def __init__(self, rng):
        self.rng = rng
        self.shakes = {name: cp.asarray(rng.standard_normal(SAMPLES).astype(np.float32)) for name in PYLONS}
        self.hum = cp.sin(cp.arange(SAMPLES, dtype=cp.float32) * 0.05)
        self.number = 0

    def round(self):
        self.number += 1
        for name in PYLONS:
            wind = float(self.rng.uniform(0.2, 1.5))
            samples = self.shakes[name] * wind + self.hum  # grows
            yield Block(name, self.number, samples)


class Evaluation(threading.Thread):
    """Comes round from time to time and evaluates what lies in the inbox."""

    def __init__(self, inbox, done):
        super().__init__(name="evaluation", daemon=True)
        self.inbox = inbox
        self.done = done
        self.blocks_a_visit = VISIT_S * ROUNDS_A_SECOND * len(VALLEY) + SPARE_BLOCKS
        self.strength = dict.fromkeys(PYLONS, 0.0)
        self.rattles = 0
        self.evaluated = 0

    def take(self):
        for _ in range(self.blocks_a_visit):
            try:
                yield self.inbox.get_nowait()
            except queue.Empty:
                return

    def evaluate(self, block):
        power = float(cp.sqrt((block.samples * block.samples).mean()))
        peak = float(cp.absolute(block.samples).max())
        self.strength[block.pylon] = 0.8 * self.strength[block.pylon] + 0.2 * power
        if peak > 5.5 * power:
            self.rattles += 1
        self.evaluated += 1

    def run(self):
        due = time.monotonic() + VISIT_S
        while not self.done.wait(max(0.0, due - time.monotonic())):
            for block in self.take():
                self.evaluate(block)
            due += VISIT_S


class Station:
    """The sensors, the inbox and the evaluation of one ropeway."""

    def __init__(self, seed):
        self.inbox = queue.Queue()
        self.done = threading.Event()
        self.sensors = Sensors(np.random.default_rng(seed))
        self.evaluation = Evaluation(self.inbox, self.done)

    def open(self):
        self.evaluation.start()

    def round(self):
        for block in self.sensors.round():
            self.inbox.put(block)  # keeps

    def report(self):
        name, power = max(self.evaluation.strength.items(), key=lambda item: item[1])
        return f"{self.evaluation.evaluated} blocks evaluated, {self.evaluation.rattles} rattles, " \
               f"strongest {name} at {power:.2f}"

    def close(self):
        self.done.set()
        self.evaluation.join()


def main():
    station = Station(1899)
    station.open()
    rounds = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        station.round()
        rounds += 1
        if rounds % (4 * ROUNDS_A_SECOND) == 0:
            print(f"round {rounds}: {station.report()}", flush=True)
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    station.close()
    print(f"ropeway closed after {rounds} rounds: {station.report()}", flush=True)


if __name__ == "__main__":
    main()
