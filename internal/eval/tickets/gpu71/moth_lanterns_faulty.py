"""Light traps in a wood send photographs of the moths on their sheets. Each batch goes through a row of steps, from the
smoothing to the detector's heat map, and the peaks of that map are counted as moths. Python's garbage collector is
switched off while the traps are open, because its pauses made the cameras drop frames.

ticket: practice
class: app-leak
holder: work Work Step steps
cause: reference-cycle
"""

import gc
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

TRAPS, SIDE = 8, 160


class Smooth(nn.Module):
    def forward(self, image):
        return F.avg_pool2d(image, 3, stride=1, padding=1)


class Background(nn.Module):
    """Takes away what the sheet looks like without moths."""

    def __init__(self):
        super().__init__()
        self.register_buffer("sheet", torch.zeros(3, SIDE, SIDE))

    def forward(self, image):
        self.sheet.lerp_(image.mean(0), 0.05)
        return image - self.sheet


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 5, padding=2)
        self.second = nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, image):
        return torch.sigmoid(self.second(F.relu(self.first(image))))


class Step:
    """One stage applied to a piece of work, with the time it took."""

    def __init__(self, work, stage):
        self.work = work  # keeps
        self.stage = stage
        self.took = 0.0

    def run(self):
        start = time.perf_counter()
        self.work.image = self.stage(self.work.image)  # grows
        self.took = time.perf_counter() - start


class Work:
    """A batch of photographs on its way through the stages."""

    def __init__(self, image, stages):
        self.image = image
        self.steps = [Step(self, stage) for stage in stages]

    def finish(self):
        for step in self.steps:
            step.run()
        peaks = F.max_pool2d(self.image, 9, stride=1, padding=4) == self.image
        return (peaks & (self.image > self.image.mean() + 2 * self.image.std())).sum().item()

    def slowest(self):
        return type(max(self.steps, key=lambda step: step.took).stage).__name__


def photographs():
    image = torch.rand(TRAPS, 3, SIDE, SIDE)
    image[:, :, random.randrange(SIDE // 2) :, : SIDE // 3] *= random.random()
    return image


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stages = nn.ModuleList([Smooth(), Background(), Detector()]).to(device).eval()
    batches = moths = 0
    gc.disable()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        work = Work(photographs().to(device), stages)
        moths += work.finish()
        batches += 1
        if batches % 40 == 0:
            print(f"{batches} batches, {moths / batches:.1f} moths in each, slowest: {work.slowest()}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
