"""Showers of cosmic rays over a field of detectors: one thread throws showers at random (where each muon comes down
and when), the main one looks at each of them: the map of the hits, the width, and how many detectors would trigger.
The two are joined by a short queue: the thrower waits when the analysis is behind.

ticket: practice
class: none
"""

import math
import os
import queue
import random
import threading
import time

import cupy as cp

MUONS = 300_000
FIELD, DETECTORS = 3_000.0, 60
REPEATS = 12


class Shower:
    def __init__(self, energy, hits, delays):
        self.energy, self.hits, self.delays = energy, hits, delays


def throw():
    """One shower: its muons spread around a core, and the outer ones come later."""
    energy = 10 ** random.uniform(0.0, 2.0)
    core = cp.asarray([random.uniform(-500, 500), random.uniform(-500, 500)], dtype=cp.float32)
    radius = 400.0 * cp.random.standard_exponential(MUONS, dtype=cp.float32) / energy**0.1
    angle = 2 * math.pi * cp.random.random_sample(MUONS, dtype=cp.float32)
    hits = cp.stack((radius * cp.cos(angle), radius * cp.sin(angle)), axis=1) + core
    delays = radius**2 / 4e4 + 5.0 * cp.random.random_sample(MUONS, dtype=cp.float32)
    return Shower(energy, hits, delays)


def thrower(showers, end):
    """Throws showers until the end, and says so with None."""
    while time.time() < end:
        showers.put(throw())
        time.sleep(random.uniform(0.08, 0.16))
    showers.put(None)


def triggered(hits, threshold):
    """How many detectors see more muons than the threshold, over shifted positions of the field."""
    cell = FIELD / DETECTORS
    counts = []
    for _ in range(REPEATS):
        shift = random.uniform(0, cell)
        places = cp.floor((hits + FIELD / 2 + shift) / cell).astype(cp.int32)
        inside = ((places >= 0) & (places < DETECTORS)).all(axis=1)
        index = cp.where(inside, places[:, 0] * DETECTORS + places[:, 1], DETECTORS * DETECTORS)
        seen = cp.bincount(index, minlength=DETECTORS * DETECTORS + 1)[:-1]
        counts.append(int((seen > threshold).sum()))
        time.sleep(0.02)
    return sum(counts) / len(counts)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    showers = queue.Queue(maxsize=4)
    thread = threading.Thread(target=thrower, args=(showers, end))
    thread.start()
    seen, width, detectors = 0, 0.0, 0.0
    while time.time() < end:
        shower = showers.get()
        if shower is None:
            break
        width += (float(shower.delays.std()) - width) / (seen + 1)
        detectors += (triggered(shower.hits, 20 * shower.energy**0.1) - detectors) / (seen + 1)
        seen += 1
        if seen % 10 == 0:
            print(f"{seen} showers: width {width:.2f} ns, {detectors:.1f} detectors triggered", flush=True)
    else:
        for _ in iter(showers.get, None):
            pass
    thread.join()


if __name__ == "__main__":
    main()
