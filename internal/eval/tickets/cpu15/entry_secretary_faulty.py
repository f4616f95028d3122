"""
The secretary of a dog show takes entries through a small server. Exhibitors connect when a mailing
goes out, so that requests come in bursts with quiet spells between. Each visit carries the picture of
a dog, which is checked for size and sharpness before the entry is accepted for its class.

ticket: practice
class: host-growth
holder: open_visits
cause: sessions-kept
"""
import collections
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 20
VISITS_PER_BURST = 36
PICTURE = (512, 512)
GROUPS = ("hound", "terrier", "toy", "working", "pastoral", "gundog", "utility")


class Withdrawn(Exception):
    """The exhibitor went away before the entry was complete."""


class EntryVisit:
    def __init__(self, number, group, picture):
        self.number = number
        self.group = group
        self.picture = picture
        self.steps = 0
        self.sharpness = None

    def advance(self, patience):
        self.steps += 1
        if self.steps > patience:
            raise Withdrawn(self.number)
        if self.steps == 2:
            grey = self.picture[::4, ::4]
            self.sharpness = float(np.abs(np.diff(grey, axis=0)).mean())

    @property
    def complete(self):
        return self.steps >= 4


class PostBox:
    """Makes the bursts of visits that follow each mailing."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.coats = self.rng.random((24, *PICTURE), dtype=np.float32)
        self.burst_left = VISITS_PER_BURST
        self.resume = 0.0

    def arrivals(self, now):
        if now < self.resume:
            return []
        if self.burst_left == 0:
            self.burst_left = VISITS_PER_BURST
        count = min(self.burst_left, int(self.rng.integers(1, 4)))
        self.burst_left -= count
        if self.burst_left == 0:
            self.resume = now + float(self.rng.uniform(2.0, 8.0))
        return [self.photograph() for _ in range(count)]

    def photograph(self):
        coat = self.coats[int(self.rng.integers(len(self.coats)))]
        light = np.float32(self.rng.uniform(0.6, 1.4))
        return coat * light  # grows


class Secretary:
    def __init__(self, seed=17):
        self.rng = np.random.default_rng(seed)
        self.open_visits = {}
        self.patience = {}
        self.waiting = collections.deque()
        self.accepted = collections.Counter()
        self.withdrawn = 0
        self.number = 0

    def connect(self, picture):
        group = GROUPS[self.number % len(GROUPS)]
        visit = EntryVisit(self.number, group, picture)
        self.open_visits[visit.number] = visit  # keeps
        self.patience[visit.number] = 2 if self.number % 3 == 1 else 9
        self.waiting.append(visit.number)
        self.number += 1

    def serve(self):
        for _ in range(min(len(self.waiting), 12)):
            number = self.waiting.popleft()
            visit = self.open_visits[number]
            try:
                visit.advance(self.patience[number])
            except Withdrawn:
                self.withdrawn += 1
                self.patience.pop(number)
                continue
            if visit.complete:
                self.accept(visit)
            else:
                self.waiting.append(number)

    def accept(self, visit):
        self.accepted[visit.group] += 1
        self.patience.pop(visit.number)
        self.open_visits.pop(visit.number)


def main():
    box = PostBox(seed=5)
    secretary = Secretary()
    start = time.monotonic()
    next_line = start + 2.0
    while True:
        now = time.monotonic()
        if now - start >= SECONDS:
            break
        for picture in box.arrivals(now - start):
            secretary.connect(picture)
        secretary.serve()
        if now >= next_line:
            next_line += 3.0
            best = secretary.accepted.most_common(1)
            group = best[0][0] if best else "none"
            print(
                f"{now - start:6.1f} s  entries {sum(secretary.accepted.values())}  "
                f"withdrawn {secretary.withdrawn}  largest group {group}",
                flush=True,
            )
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"entries closed with {sum(secretary.accepted.values())} dogs", flush=True)


if __name__ == "__main__":
    main()
