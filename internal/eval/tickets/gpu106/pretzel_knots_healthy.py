"""Inspection of the knots of pretzels on the belt of a bakery.

A camera over the belt takes pictures of pretzels that a twisting machine has laid down. A thread of its own brings
them to the device and hands them on; a second thread looks at each for the three holes of a good knot and turns a
flap for the pretzels that have come undone. The flap needs a moment for each pretzel.

ticket: practice
class: none
"""
import os
import queue
import random
import threading
import time
from dataclasses import dataclass

import torch
from torch.nn import functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PICTURE = (3, 256, 512)
PICTURES_A_SECOND = 14.0
FLAP_SECONDS = 0.11


@dataclass
class Picture:
    number: int
    taken: float
    pixels: torch.Tensor


class BeltCamera(threading.Thread):
    """Takes pictures of pretzels and puts them on their way to the inspector."""

    def __init__(self, belt, stop, seed):
        super().__init__(name="camera", daemon=True)
        self.belt = belt
        self.stop = stop
        self.rng = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.tray = torch.rand(8, *PICTURE, generator=self.generator)
        self.taken = 0

    def expose(self):
        light = self.rng.uniform(0.8, 1.2)
        pixels = (self.tray[self.rng.randrange(self.tray.shape[0])] * light).to(DEVICE)
        return F.avg_pool2d(pixels, 3, stride=1, padding=1)

    def hand_on(self, picture):
        while not self.stop.is_set():
            try:
                self.belt.put(picture, timeout=0.2)
                return
            except queue.Full:
                continue

    def run(self):
        while not self.stop.is_set():
            begun = time.monotonic()
            self.taken += 1
            self.hand_on(Picture(self.taken, begun, self.expose()))
            time.sleep(max(0.005, 1.0 / PICTURES_A_SECOND - (time.monotonic() - begun)))


class KnotInspector(threading.Thread):
    """Counts what is dark enough to be a hole, and turns the flap."""

    def __init__(self, belt, stop):
        super().__init__(name="inspector", daemon=True)
        self.belt = belt
        self.stop = stop
        self.weights = torch.tensor([0.3, 0.5, 0.2], device=DEVICE).view(3, 1, 1)
        self.usual = torch.zeros(PICTURE[1:], device=DEVICE)
        self.seen = 0
        self.undone = 0

    def judge(self, picture):
        grey = (picture.pixels * self.weights).sum(dim=0)
        self.usual.mul_(0.95).add_(grey, alpha=0.05)
        holes = F.max_pool2d((0.35 - grey).clamp(min=0.0)[None, None], 32)
        return float((holes > 0.05).float().mean())

    def run(self):
        while not self.stop.is_set():
            try:
                picture = self.belt.get(timeout=0.2)
            except queue.Empty:
                continue
            share = self.judge(picture)
            self.seen += 1
            if share > 0.5:
                self.undone += 1
            time.sleep(FLAP_SECONDS)


class KnotStation:
    def __init__(self, seed):
        self.stop = threading.Event()
        self.belt = queue.Queue(maxsize=12)
        self.camera = BeltCamera(self.belt, self.stop, seed)
        self.inspector = KnotInspector(self.belt, self.stop)

    def start(self):
        self.camera.start()
        self.inspector.start()

    def close(self):
        self.stop.set()
        self.camera.join()
        self.inspector.join()


def main():
    station = KnotStation(seed=6)
    station.start()
    begun = time.monotonic()
    while time.monotonic() - begun < SECONDS:
        time.sleep(min(2.0, max(0.05, SECONDS - (time.monotonic() - begun))))
        inspector = station.inspector
        print(f"{inspector.seen} pretzels seen, {inspector.undone} undone, "
              f"mean brightness {float(inspector.usual.mean()):.3f}", flush=True)
    station.close()
    print(f"done: {station.inspector.seen} pretzels seen, {station.inspector.undone} undone", flush=True)


if __name__ == "__main__":
    main()
