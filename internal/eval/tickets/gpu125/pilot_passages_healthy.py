"""Pilotage desk of a busy harbour.

Every vessel that takes a pilot opens a passage with a cloud of possible tracks, which is carried forward until the
vessel is made fast at her berth or has let go her anchor in the roads. Passages take a few seconds of harbour time.
The desk prints how many pilots are afloat and how wide the clouds have spread.

ticket: practice
class: none
"""
import itertools
import os
import random
import time
from collections import Counter, deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

TICKS_PER_S = 8
TRACKS, FIELDS = 65536, 12
SHORTEST_S, LONGEST_S = 3.0, 8.0


class Passage:
    """One vessel with a pilot on board: position, velocity and heel for each possible track."""

    def __init__(self, reference, destination, due, generator):
        self.reference = reference
        self.destination = destination
        self.due = due
        self.finished = False
        self.cloud = torch.rand(TRACKS, FIELDS, generator=generator, device=DEVICE)

    def carry(self, current, seconds):
        self.cloud[:, 0:2] += (self.cloud[:, 2:4] + current) * seconds

    def spread(self):
        return float(self.cloud[:1024, 0:2].std(dim=0).mean())


class TidalStream:
    def __init__(self, generator):
        self.atlas = torch.rand(24, 512, 512, 2, generator=generator, device=DEVICE) - 0.5

    def at(self, hour):
        return self.atlas[int(hour) % 24, 100, 200]


class PilotDesk:
    def __init__(self, seed=21):
        self.rng = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.stream = TidalStream(self.generator)
        self.numbers = itertools.count(1)
        self.under_way = {}
        self.outcomes = Counter()
        self.logbook = deque(maxlen=40)

    def embark(self, now):
        reference = f"P{next(self.numbers):05d}"
        destination = self.rng.choice(("berth", "anchorage"))
        due = now + self.rng.uniform(SHORTEST_S, LONGEST_S)
        passage = Passage(reference, destination, due, self.generator)
        self.under_way[reference] = passage
        return passage

    def _disembark(self, passage):
        passage.finished = True
        self.outcomes[passage.destination] += 1
        self.logbook.append((passage.reference, passage.destination, passage.spread()))
        self.under_way.pop(passage.reference, None)

    def make_fast(self, passage):
        self._disembark(passage)

    def let_go(self, passage):
        """A vessel at anchor goes on in the roads book under a reference of its own."""
        self._disembark(passage)
        passage.reference = f"{passage.reference}/R"

    def tick(self, now, hour):
        current = self.stream.at(hour)
        for passage in list(self.under_way.values()):
            if passage.finished:
                continue
            passage.carry(current, 1.0 / TICKS_PER_S)
            if now < passage.due:
                continue
            if passage.destination == "berth":
                self.make_fast(passage)
            else:
                self.let_go(passage)

    def summary(self):
        recent = [spread for _, _, spread in self.logbook]
        width = sum(recent) / len(recent) if recent else 0.0
        return f"{self.outcomes['berth']} made fast, {self.outcomes['anchorage']} anchored, mean spread {width:.3f}"


def main():
    torch.set_num_threads(1)
    desk = PilotDesk()
    start = time.monotonic()
    due = start
    for tick in itertools.count():
        now = time.monotonic()
        if now - start >= SECONDS:
            break
        if tick % 2 == 0:
            desk.embark(now)
        desk.tick(now, hour=tick / 40)
        if tick and tick % (TICKS_PER_S * 3) == 0:
            print(f"{now - start:6.1f} s: {desk.summary()}", flush=True)
        due += 1.0 / TICKS_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"watch handed over: {desk.summary()}", flush=True)


if __name__ == "__main__":
    main()
