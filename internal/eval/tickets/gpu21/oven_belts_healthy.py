"""A camera for heat looks at the rolls on a belt in an oven. Every pixel of it drifts a little, so time and again a
shutter of known heat is closed in front of it and what is off is taken away from all that is read later. A network says
which rolls are done. The correction is put around what the camera reads by itself, in place of the one before.

ticket: practice
class: none
"""

import functools
import os
import random
import time

import torch
from torch import nn

ROWS, COLUMNS, SHUTTER, ROLLS = 768, 1024, 30.0, 12


def corrected(read, offset):
    """Reading, less what is off."""

    @functools.wraps(read)
    def reading(scene):
        return read(scene) - offset

    return reading


class Camera:
    def __init__(self, device):
        self.device = device
        self.drift = torch.randn(ROWS, COLUMNS, device=device)
        self.closed = torch.full((ROWS, COLUMNS), SHUTTER, device=device)
        self.read, self.times = self.raw, 0

    def raw(self, scene):
        self.drift += 0.02 * torch.randn_like(self.drift)
        return scene + self.drift

    def calibrate(self):
        seen = self.raw(self.closed)
        for _ in range(3):
            seen = seen + self.raw(self.closed)
        offset = seen / 4 - SHUTTER
        self.read = corrected(self.raw, offset)
        self.times += 1
        return float(offset.abs().mean())


class Baker(nn.Module):
    """Which of the rolls in a picture are done."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 8, 7, 4), nn.ReLU(), nn.Conv2d(8, 12, 5, 3), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d((3, 4)))
        self.done = nn.Conv2d(12, 1, 1)

    def forward(self, picture):
        return self.done(self.look((picture[None, None] - 150) / 80)).flatten() > 0


def belt(device):
    """Three rows of four rolls, some hotter than others, before a dark ground."""
    scene = torch.full((ROWS, COLUMNS), 90.0, device=device)
    for roll in range(ROLLS):
        row, column = 256 * (roll // 4) + random.randint(20, 60), 256 * (roll % 4) + random.randint(20, 60)
        scene[row:row + 150, column:column + 150] = random.uniform(130, 210)
    return scene


@torch.no_grad()
def shift(end, device):
    camera, baker = Camera(device), Baker().to(device).eval()
    off, pictures, done, said, due = 0.0, 0, 0, time.time(), 0
    while time.time() < end:
        if pictures >= due:
            off = camera.calibrate()
            due = pictures + random.randint(1, 3)
        picture = camera.read(belt(device))
        done += int(baker(picture).sum())
        pictures += 1
        if time.time() - said > 2:
            said = time.time()
            print("pictures", pictures, "done", done, "shutter closed", camera.times, "times, off by", round(off, 3),
                  flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    torch.set_num_threads(1)
    shift(time.time() + float(os.environ.get("SECONDS", "45")), "cuda" if torch.cuda.is_available() else "cpu")
