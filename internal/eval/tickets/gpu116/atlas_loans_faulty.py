"""The reading room of a map archive, where readers look at plates of old atlases on light tables.

Each reader borrows one plate; its image is put on the table and brightened as the lamp says. Conservators
revise plates during the day and the archive announces that on its bus, so that open tables show the revision.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""
import itertools
import os
import random
import time
from collections import defaultdict, deque

import torch
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PLATES = 48
SIDE = 256
TABLES = 10
ROUNDS_PER_SECOND = 8


class ArchiveBus:
    """Tells those who asked for a topic what the archive has to say."""

    def __init__(self):
        self._listeners = defaultdict(list)
        self.delivered = 0

    def subscribe(self, topic, listener):
        self._listeners[topic].append(listener)  # keeps

    def unsubscribe(self, topic, listener):
        self._listeners[topic] = [known for known in self._listeners[topic] if known is not listener]

    def publish(self, topic, **facts):
        for listener in list(self._listeners[topic]):
            listener(**facts)
            self.delivered += 1


class PlateStore:
    """Plates at low resolution, from which the reading room enlarges."""

    def __init__(self, seed):
        rng = torch.Generator().manual_seed(seed)
        self.plates = torch.rand(PLATES, 3, SIDE // 8, SIDE // 8, generator=rng).to(DEVICE)
        self.revisions = [0] * PLATES

    def enlarge(self, plate):
        small = self.plates[plate:plate + 1]
        return F.interpolate(small, size=(SIDE, SIDE), mode="bilinear", align_corners=False)[0]  # grows

    def revise(self, plate, rng):
        self.plates[plate].mul_(rng.uniform(0.95, 1.0)).add_(0.01)
        self.revisions[plate] += 1


class LightTable:
    """One loan: a plate under the lamp, from its opening to its return."""

    def __init__(self, loan, plate, store, bus):
        self.loan = loan
        self.plate = plate
        self.store = store
        self.bus = bus
        self.lamp = 1.0
        self.image = store.enlarge(plate)
        self.repainted = 0
        bus.subscribe("revision", self.on_revision)
        bus.subscribe("lamp", self.on_lamp)

    def on_revision(self, plate):
        if plate == self.plate:
            self.image.copy_(self.store.enlarge(plate))
            self.repainted += 1

    def on_lamp(self, level):
        self.lamp = level

    def contrast(self):
        lit = (self.image * self.lamp).clamp(0, 1)
        return float(lit.std())

    def give_back(self):
        self.bus.unsubscribe("revision", self.on_revision)
        self.bus.unsubscribe("lamp", self.on_lamp)


class ReadingRoom:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.store = PlateStore(seed)
        self.bus = ArchiveBus()
        self.tables = deque()
        self.loans = itertools.count(1)
        self.returned = 0

    def lend(self):
        if len(self.tables) == TABLES:
            self.tables.popleft().give_back()
            self.returned += 1
        plate = self.rng.randrange(PLATES)
        self.tables.append(LightTable(next(self.loans), plate, self.store, self.bus))

    def hour(self):
        if self.rng.random() < 0.3:
            plate = self.rng.randrange(PLATES)
            self.store.revise(plate, self.rng)
            self.bus.publish("revision", plate=plate)
        if self.rng.random() < 0.1:
            self.bus.publish("lamp", level=self.rng.uniform(0.7, 1.2))
        return sum(table.contrast() for table in self.tables) / len(self.tables)


def main():
    torch.set_num_threads(1)
    room = ReadingRoom(seed=29)
    begun = time.monotonic()
    next_line = begun + 2.0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        room.lend()
        contrast = room.hour()
        if started >= next_line:
            revised = sum(room.store.revisions)
            print(f"{room.returned} plates back, {revised} revisions, contrast {contrast:.3f}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"reading room closed, {room.returned} plates came back", flush=True)


if __name__ == "__main__":
    main()
