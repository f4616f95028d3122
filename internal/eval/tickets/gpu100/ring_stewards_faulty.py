"""The judging desk of a dog show, where stewards bring gait clips of the dogs in the ring to be scored.

The desk posts one job for each dog that is called: a short clip of its trot, and its number in the catalogue. Two
stewards take the jobs from a tray, measure how even the stride is, and enter the mark on the ring sheet. Dogs whose
owners have sent word that they stay away are called all the same, since the order of the ring is printed beforehand.

    ticket: practice
    class: app-leak
    holder: _open
    cause: entries-left
"""
import os
import queue
import random
import threading
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
FRAMES, HEIGHT, WIDTH = 32, 128, 128
ROUND = 0.125
STEWARDS = 2
BREEDS = ("setter", "whippet", "corgi", "briard", "borzoi", "beagle")

torch.set_num_threads(1)


@dataclass
class Job:
    number: int
    catalogue: int
    breed: str
    clip: torch.Tensor


class JobTable:
    """Jobs that the desk has posted, by number, so that a ring can be recalled."""

    def __init__(self):
        self._lock = threading.Lock()
        self._open = {}
        self._next = 1

    def post(self, catalogue, breed, clip):
        with self._lock:
            job = Job(self._next, catalogue, breed, clip)
            self._open[job.number] = job  # keeps
            self._next += 1
        return job

    def release(self, number):
        with self._lock:
            self._open.pop(number, None)

    def posted(self):
        return self._next - 1


class RingSheet:
    """Marks by breed: how many dogs and the sum of their marks; absent dogs are counted apart."""

    def __init__(self):
        self._lock = threading.Lock()
        self.marks = {breed: [0, 0.0] for breed in BREEDS}
        self.absent = 0

    def enter(self, breed, mark):
        with self._lock:
            row = self.marks[breed]
            row[0] += 1
            row[1] += mark

    def strike(self):
        with self._lock:
            self.absent += 1

    def leader(self):
        with self._lock:
            return max(BREEDS, key=lambda breed: self.marks[breed][1] / max(1, self.marks[breed][0]))


class Steward(threading.Thread):
    def __init__(self, name, tray, table, sheet, absentees):
        super().__init__(name=name)
        self.tray = tray
        self.table = table
        self.sheet = sheet
        self.absentees = absentees

    def run(self):
        while True:
            job = self.tray.get()
            if job is None:
                return
            if job.catalogue in self.absentees:
                self.sheet.strike()
                continue
            self.sheet.enter(job.breed, self.evenness(job.clip))
            self.table.release(job.number)

    @staticmethod
    def evenness(clip):
        motion = (clip[1:] - clip[:-1]).abs().mean(dim=(1, 2))
        return float(motion.mean() / (1e-6 + motion.std()))


def film(generator):
    return torch.rand(FRAMES, HEIGHT, WIDTH, device=DEVICE, generator=generator)  # grows


def main():
    rng = random.Random(12)
    generator = torch.Generator(device=DEVICE).manual_seed(12)
    absentees = frozenset(rng.sample(range(1, 301), 100))
    tray, table, sheet = queue.Queue(maxsize=6), JobTable(), RingSheet()
    stewards = [Steward(f"steward-{i}", tray, table, sheet, absentees) for i in range(STEWARDS)]
    for steward in stewards:
        steward.start()
    end = time.time() + SECONDS
    spoken = time.time()
    while time.time() < end:
        tray.put(table.post(rng.randrange(1, 301), rng.choice(BREEDS), film(generator)))
        if time.time() - spoken > 3.0:
            spoken = time.time()
            print(f"{table.posted()} dogs called, {sheet.absent} absent, leading: {sheet.leader()}", flush=True)
        time.sleep(ROUND)
    for _ in stewards:
        tray.put(None)
    for steward in stewards:
        steward.join()
    print(f"best in show: {sheet.leader()}, of {table.posted()} dogs called on {DEVICE}", flush=True)


if __name__ == "__main__":
    main()
