"""Underfloor wheel lathes of a tram depot.

Trams with flats or hollow treads come in for turning. For each axle a job measures the tread all round, and while
the lathe cuts, the job follows the passes of the tool that concern it until the tread is round again. A lathe
reports every pass to whoever follows it: the jobs on it and the meter of worn tools.

ticket: practice
class: host-growth
holder: _followers
cause: callbacks-left
"""
import os
import time
from functools import partial

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 15
LATHES = 3
ANGLES, POINTS = 720, 180
PASSES_PER_JOB = 4


class PassSignal:
    """Tells everyone who follows a lathe of each pass of its tool."""

    def __init__(self):
        self._followers = []

    def connect(self, follower):
        self._followers.append(follower)  # keeps

    def disconnect(self, follower):
        if follower in self._followers:
            self._followers.remove(follower)

    def send(self, axle, depth):
        for follower in tuple(self._followers):
            follower(axle, depth)


class TreadJob:
    """One axle on the lathe: its tread over angle and width, in millimetres off the nominal profile."""

    def __init__(self, axle, nominal, wear):
        self.axle = axle
        self.tread = np.subtract(nominal, wear)  # grows
        self.passes = 0

    def follow(self, only_axle, axle, depth):
        if axle != only_axle:
            return
        floor = self.tread.min() + depth
        np.minimum(self.tread, floor + 0.2, out=self.tread)
        self.passes += 1

    def round_enough(self):
        return self.passes >= PASSES_PER_JOB

    def runout(self):
        return float(np.ptp(self.tread.mean(axis=1)))


class Lathe:
    def __init__(self):
        self.passed = PassSignal()
        self.job = None

    def mount(self, job):
        self.job = job
        self.passed.connect(partial(job.follow, job.axle))

    def release(self):
        job, self.job = self.job, None
        self.passed.disconnect(partial(job.follow, job.axle))
        return job

    def cut(self, depth):
        self.passed.send(self.job.axle, depth)


class ToolMeter:
    """Adds up the depth that the tools of all lathes have cut."""

    def __init__(self):
        self.depth = 0.0

    def count(self, axle, depth):
        self.depth += depth


class TreadGauge:
    """Measures wheels: a nominal profile and a stock of wear patterns seen on the network."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        width = np.linspace(0.0, 1.0, POINTS, dtype=np.float32)
        self._nominal = np.tile(2.0 - 0.4 * width, (ANGLES, 1))
        self._patterns = self._rng.random((90, ANGLES, POINTS), dtype=np.float32)

    def measure(self, axle):
        wear = self._patterns[self._rng.integers(len(self._patterns))]
        return TreadJob(axle, self._nominal, wear)

    def depth(self):
        return float(self._rng.uniform(0.1, 0.3))


class WheelShop:
    def __init__(self, seed):
        self._gauge = TreadGauge(seed)
        self._lathes = [Lathe() for _ in range(LATHES)]
        self.meter = ToolMeter()
        for lathe in self._lathes:
            lathe.passed.connect(self.meter.count)
        self._next_axle = 100
        self.turned = 0
        self.last_runout = 0.0

    def round(self):
        for lathe in self._lathes:
            if lathe.job is None:
                lathe.mount(self._gauge.measure(self._next_axle))
                self._next_axle += 1
            lathe.cut(self._gauge.depth())
            if lathe.job.round_enough():
                self.last_runout = lathe.release().runout()
                self.turned += 1


def main():
    shop = WheelShop(seed=603)
    start = time.monotonic()
    next_print, rounds = 2.0, 0
    while (now := time.monotonic() - start) < SECONDS:
        shop.round()
        rounds += 1
        if now >= next_print:
            print(f"{now:6.1f} s  axles turned {shop.turned}  runout {shop.last_runout:.3f} mm  "
                  f"cut {shop.meter.depth:.1f} mm", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, rounds / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"shop closed: {shop.turned} axles turned, {shop.meter.depth:.1f} mm cut", flush=True)


if __name__ == "__main__":
    main()
