"""Inspectors visit radio masts. During a visit the readings of many sensors on the mast are turned into its modes of
sway, in a worker thread from the crew of that mast; after the visit the worker goes back to the crew and waits.

ticket: practice
class: driver-growth
holder: crews Worker Dispatch thread
cause: threads-kept library-workspaces handle-leak
"""

import logging
import os
import queue
import random
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass

import cupy as cp

log = logging.getLogger("masts")
MASTS = "droitwich", "belmont", "emley"


@dataclass(frozen=True)
class Visit:
    mast: str
    number: int
    parts: int = 4
    sensors: int = 96
    readings: int = 4096

    @property
    def crew(self):
        return self.mast, self.number


class Modes:
    def __call__(self, readings):
        readings = readings - readings.mean(axis=1, keepdims=True)
        covariance = readings @ readings.T / readings.shape[1]  # grows
        strengths, _ = cp.linalg.eigh(covariance)  # grows
        return cp.asnumpy(strengths[-3:]).tolist()


class Worker(threading.Thread):
    def __init__(self, task):
        super().__init__(daemon=True)
        self.task, self.inbox, self.outbox = task, queue.Queue(), queue.Queue()
        self.start()

    def run(self):
        for readings in iter(self.inbox.get, None):
            self.outbox.put(self.task(readings))
            del readings

    def work(self, readings):
        self.inbox.put(readings)
        return self.outbox.get(timeout=60)

    def dismiss(self):
        self.inbox.put(None)
        self.join()


class Dispatch:
    def __init__(self, task):
        self.task, self.crews = task, defaultdict(list)

    def _take(self, crew):
        return self.crews[crew].pop() if self.crews[crew] else Worker(self.task)

    @contextmanager
    def worker(self, visit):
        worker = self._take(visit.crew)
        try:
            yield worker
        finally:
            self.crews[visit.crew].append(worker)  # keeps

    def close(self):
        for crew in self.crews.values():
            while crew:
                crew.pop().dismiss()


def inspect(dispatch, visit):
    strongest = 0.0
    with dispatch.worker(visit) as worker:
        for _ in range(visit.parts):
            readings = cp.random.standard_normal((visit.sensors, visit.readings), dtype=cp.float32)
            strongest = max(strongest, *worker.work(readings))
            time.sleep(random.uniform(0.2, 0.35))
    return strongest


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    dispatch, number = Dispatch(Modes()), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        visit = Visit(MASTS[number % len(MASTS)], number)
        log.info("visit %d to %s: strongest mode %.3f", number, visit.mast, inspect(dispatch, visit))
        number += 1
    dispatch.close()


if __name__ == "__main__":
    main()
