"""Inspection of sacks in the packing hall of a flour mill.

Every few seconds a wagon brings a load of sacks past a line camera. The images wait on the host
under the tag of the sack, and a grader on the device takes a few of them each round and measures
the specks of bran. White sacks go to the ramp, speckled ones go back to the reduction rollers.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
WAGON_EVERY = 5.0
SACKS_PER_WAGON = 40
SACKS_PER_ROUND = 2
SIDE = 512

torch.set_num_threads(1)


class LineCamera:
    """Images of the sacks of a wagon, white and speckled ones in turn."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.count = 0

    def image(self):
        specks = 0.30 if self.count % 2 else 0.05
        self.count += 1
        pixels = self.random.random((SIDE, SIDE), dtype=np.float32)
        pixels += specks
        return pixels


class SackStore:
    """Images that wait for the grader, by the tag of the sack."""

    def __init__(self):
        self._by_tag = {}
        self._order = deque()

    def put(self, tag, pixels):
        self._by_tag[tag] = pixels
        self._order.append(tag)

    def next_tags(self, count):
        size = min(count, len(self._order))
        return [self._order.popleft() for _ in range(size)]

    def image(self, tag):
        return self._by_tag[tag]

    def release(self, tag):
        del self._by_tag[tag]


class Grader:
    """Measures bran specks on the device."""

    def __init__(self, limit, seed):
        self.limit = limit
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.flat_fields = 0.5 + torch.rand(24, SIDE, SIDE, generator=generator, device=DEVICE)

    def specks(self, pixels, index):
        image = torch.from_numpy(pixels).to(DEVICE)
        corrected = image * self.flat_fields[index % len(self.flat_fields)]
        return float(corrected.mean())


class PackingHall:
    def __init__(self, camera, store, grader):
        self.camera = camera
        self.store = store
        self.grader = grader
        self.wagons = 0
        self.to_ramp = 0
        self.to_rollers = 0

    def wagon(self):
        self.wagons += 1
        for place in range(SACKS_PER_WAGON):
            self.store.put(f"W{self.wagons:04d}-{place:02d}", self.camera.image())

    def grade(self):
        for tag in self.store.next_tags(SACKS_PER_ROUND):
            index = self.to_ramp + self.to_rollers
            if self.grader.specks(self.store.image(tag), index) > self.grader.limit:
                self.send_back(tag)
            else:
                self.ship(tag)

    def ship(self, tag):
        self.to_ramp += 1
        self.store.release(tag)

    def send_back(self, tag):
        self.to_rollers += 1
        self.store.release(tag)


def main():
    hall = PackingHall(LineCamera(seed=61), SackStore(), Grader(limit=0.68, seed=62))
    start = time.monotonic()
    next_wagon = 0.5
    last_line = start
    index = 0
    while time.monotonic() - start < SECONDS:
        if time.monotonic() - start >= next_wagon:
            next_wagon += WAGON_EVERY
            hall.wagon()
        hall.grade()
        index += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  wagons {hall.wagons}  sacks to the ramp {hall.to_ramp}"
                  f"  back to the rollers {hall.to_rollers}", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"hall closed after {hall.wagons} wagons, {hall.to_ramp} sacks shipped", flush=True)


if __name__ == "__main__":
    main()
