"""Finds restless alpacas in the short clips that the cameras of the pens send by turns. Each clip is smoothed and the
change from frame to frame is weighed; the still pictures of a pen are learned as its background. The work on a clip
is done in a memory pool of its own name, so that the cameras do not cut up each other's memory.

ticket: practice
class: pool-growth
holder: pools Pens
cause: pool-never-trims cache-without-bound
"""

import contextlib
import os
import random
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

CAMERAS = "barn", "brook", "hill"
FRAMES, HEIGHT, WIDTH = 24, 192, 256


@dataclass
class Clip:
    camera: str
    number: int
    frames: np.ndarray

    @property
    def name(self):
        return f"{self.camera}-{self.number:05d}"


class Camera:
    """Stands in for a camera: animals are bright patches that walk about."""

    def __init__(self, name, seed):
        self.name, self.sent = name, 0
        self.random = np.random.default_rng(seed)

    def clip(self):
        frames = self.random.normal(0.2, 0.02, (FRAMES, HEIGHT, WIDTH)).astype(np.float32)
        for _ in range(5):
            y, x = self.random.integers(10, HEIGHT - 30), self.random.integers(60, WIDTH - 60)
            stride = self.random.integers(-2, 3)
            for number, frame in enumerate(frames):
                left = x + stride * number
                frame[y:y + 20, left:left + 12] += 0.5
        self.sent += 1
        return Clip(self.name, self.sent, frames)


class Pens:
    def __init__(self, device):
        self.device, self.pools = device, {}
        self.background = {name: torch.zeros(HEIGHT, WIDTH, device=device) for name in CAMERAS}

    def pool(self, name):
        """The context in which what is allocated comes from the pool of this name."""
        if self.device != "cuda":
            return contextlib.nullcontext()
        if name not in self.pools:
            self.pools[name] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[name])

    def unrest(self, clip):
        with self.pool(clip.name):
            frames = torch.from_numpy(clip.frames).to(self.device)  # grows
            smooth = F.avg_pool2d(frames[:, None], 5, stride=1, padding=2)[:, 0]  # grows
            change = smooth.diff(dim=0).abs()  # grows
            moving = (change > 0.08).float()  # grows
            self.background[clip.camera].lerp_(smooth.mean(dim=0), 0.1)
            animals = (smooth[-1] - self.background[clip.camera] > 0.1).sum()
            return (moving.sum() / FRAMES).item(), animals.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pens, clips, unrest = Pens(device), 0, dict.fromkeys(CAMERAS, 0.0)
    cameras = [Camera(name, seed) for seed, name in enumerate(CAMERAS)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        clip = cameras[clips % len(cameras)].clip()
        moved, animals = pens.unrest(clip)
        unrest[clip.camera] += 0.2 * (moved - unrest[clip.camera])
        clips += 1
        if clips % 6 == 0:
            state = ", ".join(f"{name} {value:.0f}" for name, value in unrest.items())
            print(f"{clip.name}: {animals} pixels of animals; unrest: {state}", flush=True)
        time.sleep(random.uniform(0.5, 0.9))


if __name__ == "__main__":
    main()
