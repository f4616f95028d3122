"""Drifting buoys send how they heave and tilt in the waves, and the server makes the directional spectrum of the sea
from it. Each message goes to one of three desks, threads with an inbox of their own, so that a buoy with much to tell
does not hold up all others. A buoy drifts for some seconds, then its battery is empty; new ones are thrown in all the
time.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import cupy
import numpy as np

SAMPLES, SENSORS, BANDS = 2_048, 8, 64
THROW_IN, LIFE, DESKS = 1.2, 4.0, 3


class Buoy:
    def __init__(self, number):
        self.number = number
        self.born = time.time()
        self.direction = random.uniform(0.0, 2 * np.pi)
        self.random = np.random.default_rng(number)

    def message(self):
        """Samples of all sensors: waves from one direction, and noise."""
        phases = np.arange(SAMPLES)[:, None] * 0.05 + np.cos(self.direction - np.arange(SENSORS))
        return (np.sin(phases) + 0.3 * self.random.standard_normal(phases.shape)).astype(np.float32)


class Desk:
    """Works off an inbox in a thread."""

    def __init__(self, report):
        self.report = report
        self.inbox = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while True:
            number, samples = self.inbox.get()
            self.report(number, directional_spectrum(cupy.asarray(samples)))
            self.inbox.task_done()


def directional_spectrum(samples):
    """The direction, of BANDS, in which the sensors agree most."""
    samples = samples - samples.mean(axis=0)
    covariance = samples.T @ samples / SAMPLES
    angles = cupy.linspace(0.0, 2 * np.pi, BANDS, endpoint=False, dtype=cupy.float32)
    steering = cupy.cos(angles[:, None] - cupy.arange(SENSORS, dtype=cupy.float32))
    power = ((steering @ covariance) * steering).sum(axis=1)
    return int(power.argmax())


class Server:
    def __init__(self):
        self.desks = {}
        self.messages = 0

    def report(self, number, band):
        self.messages += 1
        if self.messages % 40 == 0:
            print(f"{self.messages} messages, buoy {number}: waves from {360 * band // BANDS} degrees", flush=True)

    def receive(self, number, samples):
        name = f"desk {number % DESKS}"
        if name not in self.desks:
            self.desks[name] = Desk(self.report)
        self.desks[name].inbox.put((number, samples))


def main():
    server, afloat, thrown, due = Server(), [], 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if time.time() >= due:
            afloat.append(Buoy(thrown))
            thrown, due = thrown + 1, time.time() + THROW_IN
        afloat = [buoy for buoy in afloat if time.time() - buoy.born < LIFE]
        for buoy in afloat:
            server.receive(buoy.number, buoy.message())
        time.sleep(0.2)
    for desk in server.desks.values():
        desk.inbox.join()


if __name__ == "__main__":
    main()
