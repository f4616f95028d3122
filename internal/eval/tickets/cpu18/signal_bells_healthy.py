"""Two signal boxes work the block between them by single-stroke bells and a book. A train that is offered by
bell gets a watcher of its own, which takes the approach record of the rail microphones and waits for the bell
code "train out of section"; then it measures the train's length and speed from the record. On a busy line many
offers are cancelled with the code 3-5, as the trains are put back into the loop.

ticket: practice
class: none
"""
import os
import queue
import threading
import time

import numpy as np

MICROPHONES = 4
SAMPLES = 65536
ROUNDS_PER_SECOND = 10
SECTION_ROUNDS = 4
CANCEL_SHARE = 0.4


class Track:
    """Stretch of line with microphones on the rail."""

    def __init__(self, rng):
        self.rng = rng
        self.hum = rng.standard_normal((60, MICROPHONES, SAMPLES), dtype=np.float32)

    def listen(self, speed):
        envelope = np.exp(-np.linspace(-3.0, 3.0, SAMPLES, dtype=np.float32) ** 2 * np.float32(speed / 20.0))
        return self.hum[self.rng.integers(len(self.hum))] * envelope


class TrainWatcher(threading.Thread):
    """Waits for the bell that tells that the train is out of section, then measures it."""

    def __init__(self, train, approach, measured):
        super().__init__(name=f"train-{train}", daemon=True)
        self.train = train
        self.approach = approach
        self.measured = measured
        self.out_of_section = threading.Event()
        self.cancelled = False

    def run(self):
        self.out_of_section.wait()
        if self.cancelled:
            return
        loudness = np.abs(self.approach).mean(axis=0)
        above = np.flatnonzero(loudness > 0.4)
        length = float(above[-1] - above[0]) if len(above) else 0.0
        self.measured.put((self.train, length))


class BlockInstrument:
    """The bell and the trains that have been offered and accepted."""

    def __init__(self, rng, track):
        self.rng = rng
        self.track = track
        self.measured = queue.Queue()
        self.in_section = {}
        self.next_train = 1
        self.offered = 0
        self.cancelled = 0

    def offer(self):
        train = self.next_train
        self.next_train += 1
        approach = self.track.listen(speed=float(self.rng.uniform(8.0, 40.0)))
        watcher = TrainWatcher(train, approach, self.measured)
        watcher.start()
        self.in_section[train] = [watcher, SECTION_ROUNDS]
        self.offered += 1

    def cancel(self, train):
        watcher, _ = self.in_section.pop(train)
        watcher.cancelled = True
        watcher.out_of_section.set()
        self.cancelled += 1

    def ring_out(self, train):
        watcher, _ = self.in_section.pop(train)
        watcher.out_of_section.set()

    def step(self):
        self.offer()
        for train, entry in list(self.in_section.items()):
            entry[1] -= 1
            if entry[1] == 2 and self.rng.random() < CANCEL_SHARE:
                self.cancel(train)
            elif entry[1] <= 0:
                self.ring_out(train)


class TrainBook:
    """The signaller's book with running figures of the trains measured."""

    def __init__(self):
        self.entries = 0
        self.mean_length = 0.0

    def write_up(self, measured):
        while True:
            try:
                _, length = measured.get_nowait()
            except queue.Empty:
                return
            self.entries += 1
            self.mean_length += (length - self.mean_length) / self.entries


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    rng = np.random.default_rng(351)
    instrument = BlockInstrument(rng, Track(rng))
    book = TrainBook()
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        instrument.step()
        book.write_up(instrument.measured)
        if began >= next_report:
            print(f"{began - start:6.1f} s  offered {instrument.offered}  cancelled {instrument.cancelled}  "
                  f"entries {book.entries}  mean length {book.mean_length:.0f}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"box switched out: {instrument.offered} trains offered, {book.entries} in the book", flush=True)


if __name__ == "__main__":
    main()
