"""Feeding rounds in a zoo.

At each enclosure a floor scale and a bowl scale are read while the animals eat. A reader of its own takes the blocks
of samples for the visit, cleans them and adds up what was eaten, while the round goes on with the next handful.
At the end of a visit the sums are written into the book of the day.

ticket: practice
class: none
"""
import os
import queue
import threading
import time

import numpy as np

ENCLOSURES = ("otters", "tapirs", "red pandas", "ibises", "lemurs", "porcupines")
HANDFULS = 8
SAMPLES = 100_000
HANDFUL_TIME = 0.13


class ScaleReader(threading.Thread):
    """Works on the blocks of one visit."""

    def __init__(self, enclosure):
        super().__init__(name=f"scale {enclosure}", daemon=True)
        self.inbox = queue.SimpleQueue()
        self.trace = np.full((HANDFULS, 2, SAMPLES), np.nan, dtype=np.float32)
        self.filled = 0
        self.eaten = 0.0

    def run(self):
        while True:
            block = self.inbox.get()
            if block is None:
                break
            self.work(block)

    def work(self, block):
        steady = np.clip(block, 0.0, 90.0)
        self.trace[self.filled] = steady
        bowl = steady[1]
        self.eaten += float(bowl[:1000].mean() - bowl[-1000:].mean())
        self.filled += 1


class Scales:
    """The two scales of an enclosure: the floor and the bowl."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.ramp = np.linspace(1.0, 0.0, SAMPLES, dtype=np.float32)

    def read(self, handful):
        noise = self.rng.standard_normal((2, SAMPLES), dtype=np.float32)
        noise[0] = 42.0 + 0.4 * noise[0]
        noise[1] = handful * self.ramp + 0.02 * noise[1] + 0.5
        return noise


class DayBook:
    def __init__(self):
        self.sums = {name: 0.0 for name in ENCLOSURES}
        self.visits = 0

    def write(self, enclosure, kilograms):
        self.sums[enclosure] += kilograms
        self.visits += 1

    def hungriest(self):
        return max(self.sums, key=self.sums.get)


def wait_until_worked(reader, count):
    for _ in range(100):
        if reader.filled >= count:
            return True
        time.sleep(0.002)
    return False


def visit(enclosure, scales, book, end):
    """One enclosure: handful after handful, then the sum goes into the book."""
    reader = ScaleReader(enclosure)
    reader.start()
    given = 0
    while given < HANDFULS and time.time() < end:
        reader.inbox.put(scales.read(handful=0.3 + 0.05 * given))
        given += 1
        time.sleep(HANDFUL_TIME)
    wait_until_worked(reader, given)
    reader.inbox.put(None)
    reader.join()
    book.write(enclosure, reader.eaten)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    scales = Scales(seed=31)
    book = DayBook()
    while time.time() < end:
        enclosure = ENCLOSURES[book.visits % len(ENCLOSURES)]
        visit(enclosure, scales, book, end)
        if book.visits % 3 == 0:
            name = book.hungriest()
            print(f"visit {book.visits}: {enclosure} done, most eaten by the {name} "
                  f"({book.sums[name]:.1f} kg)", flush=True)
    print(f"rounds over, {sum(book.sums.values()):.1f} kg in {book.visits} visits", flush=True)


if __name__ == "__main__":
    main()
