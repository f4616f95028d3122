"""Cheese wheels come along a belt, and each gets its grade from a photo. An inspection has its steps: cut the wheel
out, even the light out, ask the network. The steps take turns on the same inspection, so that each finds what those
before it have left. The belt doesn't wait, so the garbage collector is switched off as soon as everything is loaded.

ticket: practice
class: none
"""

import gc
import os
import random
import time
import weakref
from collections import Counter

import numpy as np
import torch
from torch import nn

SIDE, CUT = 384, 256
GRADES = "first", "second", "grated"


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, len(GRADES)),
        )

    def forward(self, wheels):
        return self.layers(wheels)


class Step:
    def __init__(self, inspection):
        self.inspection = weakref.proxy(inspection)


class Cut(Step):
    """The wheel lies somewhere near the middle."""

    def run(self):
        row, column = (random.randint(0, SIDE - CUT) for _ in range(2))
        self.inspection.wheel = self.inspection.photo[:, row:row + CUT, column:column + CUT]


class Even(Step):
    """The lamps of the belt are not all the same."""

    def run(self):
        wheel = self.inspection.wheel
        self.inspection.wheel = (wheel - wheel.mean(axis=(1, 2), keepdims=True)) / wheel.std()


class Grade(Step):
    def __init__(self, inspection, model, device):
        super().__init__(inspection)
        self.model, self.device = model, device

    @torch.inference_mode()
    def run(self):
        scores = self.model(torch.from_numpy(self.inspection.wheel)[None].to(self.device))
        self.inspection.grade = GRADES[scores.argmax().item()]


class Inspection:
    def __init__(self, photo, model, device):
        self.photo, self.wheel, self.grade = photo, None, None
        self.steps = [Cut(self), Even(self), Grade(self, model, device)]

    def run(self):
        for step in self.steps:
            step.run()
        return self.grade


def take_photo(camera):
    return camera.random((3, SIDE, SIDE), dtype=np.float32)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, camera = Grader().to(device).eval(), np.random.default_rng()
    Inspection(take_photo(camera), model, device).run()
    gc.collect()
    gc.disable()
    grades, end = Counter(), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        grades[Inspection(take_photo(camera), model, device).run()] += 1
        if grades.total() % 30 == 0:
            print(", ".join(f"{grade} {grades[grade]}" for grade in GRADES), flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
