"""Duplicate search in the catalogue of a seed bank.

Incoming accessions are compared with every marker profile of the collection, to see whether the bank has the same
landrace already. Curators come back to an accession several times within a few seconds, so that its similarity profile
is held ready for them. A line every three seconds tells how many look-ups there were and how alike the lots are.

ticket: practice
class: none
"""
import itertools
import os
import random
import time
from collections import deque
from dataclasses import dataclass, field

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

LOOKUPS_PER_S = 12
COLLECTION = 262_144
MARKERS = 32
IDLE_S = 10.0
REPORT_S = 3.0


@dataclass
class Profile:
    similarity: torch.Tensor
    best: float
    used: float = field(default_factory=time.monotonic)


class Collection:
    """Marker profiles of all accessions in the vault."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.markers = torch.randn(COLLECTION, MARKERS, generator=self.generator, device=DEVICE)

    def sample(self):
        return torch.randn(MARKERS, generator=self.generator, device=DEVICE)

    def compare(self, markers):
        similarity = torch.mv(self.markers, markers)
        return similarity.div_(markers.norm())


class ProfileShelf:
    """Similarity profiles by accession number; those that nobody asks for are taken away."""

    def __init__(self, collection, idle_s):
        self.collection = collection
        self.idle_s = idle_s
        self._profiles = {}
        self.hits = 0
        self.misses = 0

    def numbers(self):
        return list(self._profiles)

    def peek(self, number):
        return self._profiles[number]

    def get(self, number):
        profile = self._profiles.get(number)
        if profile is None:
            self.misses += 1
            similarity = self.collection.compare(self.collection.sample())
            profile = Profile(similarity, float(similarity.max()))
            self._profiles[number] = profile
        else:
            self.hits += 1
            profile.used = time.monotonic()
        return profile

    def tidy(self):
        limit = time.monotonic() - self.idle_s
        for number in [n for n, profile in self._profiles.items() if profile.used < limit]:
            del self._profiles[number]

    def likeness(self):
        """Mean of the best matches over the profiles on the shelf."""
        best = [self.peek(number).best for number in self.numbers()]
        return sum(best) / max(1, len(best))


class CuratorDesk:
    def __init__(self, shelf, seed):
        self.shelf = shelf
        self.rng = random.Random(seed)
        self.serial = itertools.count(40_001)
        self.recent = deque(maxlen=20)
        self.duplicates = 0

    def receive(self):
        number = f"ACC-{next(self.serial)}"
        self.recent.append(number)
        return self.look_up(number)

    def revisit(self):
        return self.look_up(self.rng.choice(self.recent))

    def look_up(self, number):
        profile = self.shelf.get(number)
        matches = int((profile.similarity > 4.5).sum())
        self.duplicates += matches > 0
        return matches


def main():
    torch.set_num_threads(1)
    shelf = ProfileShelf(Collection(seed=5), IDLE_S)
    desk = CuratorDesk(shelf, seed=5)
    start = time.monotonic()
    due, report_due = start, start + REPORT_S
    for lookup in itertools.count():
        if time.monotonic() - start >= SECONDS:
            break
        if lookup % 2 == 0:
            desk.receive()
        else:
            desk.revisit()
        shelf.tidy()
        if time.monotonic() >= report_due:
            report_due += REPORT_S
            print(f"look-up {lookup}: likeness {shelf.likeness():.3f}, duplicates {desk.duplicates}", flush=True)
        due += 1.0 / LOOKUPS_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"catalogue closed: {desk.duplicates} look-ups with possible duplicates", flush=True)


if __name__ == "__main__":
    main()
