"""Signal boxes along a double line pass trains from block section to block section. Axle counters at both ends
of a section record the wheels that go in and those that come out; a section is free again when the counts
agree. The simulation runs the timetable in small steps and measures the delay between the last axle and the
release, so that the pauses of the interpreter are kept out of the steps.

ticket: practice
class: none
"""
import collections
import gc
import os
import time
import weakref

import numpy as np

SECTIONS = 12
PULSE_SAMPLES = 24000
ROUNDS_PER_SECOND = 10
TRAINS_WAITING = 8


class AxleCount:
    """Pulses of one counting head while a train goes over it."""

    def __init__(self, passage, head, pulses):
        self.passage = weakref.proxy(passage)
        self.head = head
        self.pulses = pulses

    def axles(self):
        gate = self.pulses > self.passage.threshold
        return int(np.count_nonzero(gate[1:] & ~gate[:-1]))


class Passage:
    """A train in a section, from the entry head to the exit head."""

    def __init__(self, train, section, threshold):
        self.train = train
        self.section = section
        self.threshold = threshold
        self.counts = []
        self.steps_left = 2

    def count(self, head, pulses):
        self.counts.append(AxleCount(self, head, pulses))

    def is_clear(self):
        entered, left = (count.axles() for count in self.counts)
        return entered == left


class CountingHead:
    """A pair of coils on the rail; wheels show as short pulses over noise."""

    def __init__(self, rng):
        self.rng = rng
        self.noise = rng.standard_normal((320, PULSE_SAMPLES), dtype=np.float32)
        self.noise *= 0.05

    def sample(self, axles):
        pulses = self.noise[self.rng.integers(len(self.noise))].copy()
        spacing = PULSE_SAMPLES // (axles + 1)
        for axle in range(axles):
            centre = spacing * (axle + 1)
            pulses[centre - 12:centre + 12] = 1.0
        return pulses


class BlockLine:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.heads = [CountingHead(self.rng) for _ in range(2)]
        self.waiting = collections.deque(maxlen=TRAINS_WAITING)
        self.sections = [None] * SECTIONS
        self.next_train = 1
        self.delays = np.zeros(256)
        self.releases = 0
        self.disturbed = 0
        for section in range(1, SECTIONS, 2):
            self.announce()
            self.enter(section, self.waiting.popleft())

    def announce(self):
        while len(self.waiting) < TRAINS_WAITING:
            self.waiting.append((self.next_train, int(self.rng.integers(8, 60))))
            self.next_train += 1

    def enter(self, section, train):
        number, axles = train
        passage = Passage(train, section, threshold=0.5)
        passage.count("entry", self.heads[0].sample(axles))
        self.sections[section] = passage

    def leave(self, section):
        passage = self.sections[section]
        number, axles = passage.train
        missed = 1 if self.rng.random() < 0.01 else 0
        passage.count("exit", self.heads[1].sample(axles - missed))
        began = time.perf_counter()
        if not passage.is_clear():
            self.disturbed += 1
        self.delays[self.releases % len(self.delays)] = time.perf_counter() - began
        self.releases += 1
        self.sections[section] = None
        return passage.train

    def step(self):
        self.announce()
        for section in reversed(range(SECTIONS)):
            passage = self.sections[section]
            if passage is None:
                continue
            passage.steps_left -= 1
            onward = section + 1
            if passage.steps_left > 0 or (onward < SECTIONS and self.sections[onward] is not None):
                continue
            train = self.leave(section)
            if onward < SECTIONS:
                self.enter(onward, train)
        if self.sections[0] is None:
            self.enter(0, self.waiting.popleft())


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    line = BlockLine(seed=1889)
    gc.disable()
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        line.step()
        if began >= next_report:
            print(f"{began - start:6.1f} s  trains {line.next_train - 1}  releases {line.releases}  "
                  f"disturbed {line.disturbed}  release {line.delays.max() * 1e3:.2f} ms", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"line closed: {line.releases} releases, {line.disturbed} disturbed", flush=True)


if __name__ == "__main__":
    main()
