"""Cameras over a ski slope send the part of the picture that changed. The daemon copies each part into a staging
buffer, which is page-locked where there is a GPU, sends it over, and counts the skiers in it. Staging buffers are
expensive to make, so they are used again.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CAMERAS = "summit", "gully", "forest", "valley"
HEIGHT, WIDTH = 720, 1280


class Staging:
    """Buffers of the host that go to the device fast."""

    def __init__(self, pinned):
        self.pinned = pinned
        self.free = {}

    def take(self, size):
        size = 1 << (size - 1).bit_length()
        ready = self.free.get(size)
        if ready:
            return ready.pop()
        return torch.empty(size, dtype=torch.uint8, pin_memory=self.pinned)

    def give(self, buffer):
        self.free.setdefault(buffer.numel(), []).append(buffer)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Conv2d(8, 1, 3, stride=2, padding=1))

    def forward(self, picture):
        return F.softplus(self.net(picture)).mean()


def changed(camera):
    """The changed part of a picture: its place, and its pixels."""
    height, width = random.randint(200, HEIGHT), random.randint(300, WIDTH)
    level = 180 + 10 * CAMERAS.index(camera)
    return np.full((height, width, 3), level, np.uint8)


@torch.inference_mode()
def count(model, staging, part, device):
    buffer = staging.take(part.size)
    buffer[: part.size].copy_(torch.from_numpy(part).view(-1))
    sent = buffer[: part.size].to(device, non_blocking=True)
    picture = sent.view(part.shape).permute(2, 0, 1)[None].float() / 255
    skiers = model(picture).item()
    staging.give(buffer)
    return skiers


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, staging = Counter().to(device).eval(), Staging(device == "cuda")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    parts, skiers = 0, dict.fromkeys(CAMERAS, 0.0)
    while time.time() < end:
        camera = random.choice(CAMERAS)
        skiers[camera] = 0.8 * skiers[camera] + 0.2 * count(model, staging, changed(camera), device)
        parts += 1
        if parts % 40 == 0:
            print(parts, "parts:", ", ".join(f"{c} {n:.2f}" for c, n in skiers.items()), flush=True)
        time.sleep(random.uniform(0.04, 0.15))


if __name__ == "__main__":
    main()
