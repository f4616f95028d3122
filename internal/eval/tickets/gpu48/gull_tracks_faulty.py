"""Follows a gull through the frames of a camera on a pier. The features of each frame are compared with those of the
frame before it, at every small shift; the shift that fits best, smoothed with the one before, moves the gull.

ticket: practice
class: app-leak
holder: previous Frame latest features
cause: snapshots-kept buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

HEIGHT, WIDTH, CHANNELS, REACH = 192, 256, 32, 4
SMOOTH = 0.6


class Frame:
    """One picture, with what was found in it."""

    def __init__(self, number, picture, features, previous=None):
        self.number, self.picture, self.features = number, picture, features
        self.previous = previous  # keeps
        self.shift = torch.zeros(2)

    def find_shift(self, shifts):
        best = shifts[correlate(self.features, self.previous.features).argmax().item()]
        self.shift = SMOOTH * self.previous.shift + (1 - SMOOTH) * best


def correlate(now, before):
    """How well the features fit those before them, for each shift."""
    padded = F.pad(before, (REACH,) * 4)
    height, width = now.shape[-2:]
    steps = range(2 * REACH + 1)
    return torch.stack([(now * padded[..., y : y + height, x : x + width]).mean() for y in steps for x in steps])


class Tracker:
    def __init__(self, device):
        self.eye = nn.Sequential(
            nn.Conv2d(3, CHANNELS, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(CHANNELS, CHANNELS, 3, stride=2, padding=1),
        ).to(device)
        steps = torch.arange(-REACH, REACH + 1.0)
        self.shifts = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), dim=-1).reshape(-1, 2)
        self.latest, self.place = None, torch.tensor([HEIGHT / 8, WIDTH / 8])

    @torch.inference_mode()
    def follow(self, number, picture):
        features = F.normalize(self.eye(picture), dim=1)  # grows
        frame = Frame(number, picture, features, self.latest)
        if frame.previous is not None:
            frame.find_shift(self.shifts)
        self.place = self.place + frame.shift
        self.latest = frame
        return self.place


class Camera:
    """Stands in for the camera: a bright bird on waves."""

    def __init__(self, device):
        self.device = device
        self.rows = torch.arange(HEIGHT, device=device)[:, None]
        self.columns = torch.arange(WIDTH, device=device)
        self.place = [HEIGHT / 2, WIDTH / 2]

    def shoot(self):
        self.place[0] = (self.place[0] + random.uniform(-6, 6)) % HEIGHT
        self.place[1] = (self.place[1] + random.uniform(-4, 8)) % WIDTH
        away = (self.rows - self.place[0]) ** 2 + (self.columns - self.place[1]) ** 2
        waves = 0.2 * torch.rand(1, 3, HEIGHT, WIDTH, device=self.device)
        return waves + torch.exp(-away / 60)  # grows


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tracker, camera, number = Tracker(device), Camera(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        place = tracker.follow(number, camera.shoot())
        number += 1
        if number % 50 == 0:
            row, column = place.tolist()
            print(f"frame {number}: the gull is at {4 * row:.0f}, {4 * column:.0f}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
