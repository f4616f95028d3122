"""Frames are drawn between those of films. Each frame is used twice, with the one before and the one after, so that
what is worked out of it is cached, with functools; tensors are told apart by who they are.

ticket: practice
class: app-leak
holder: pyramid lru_cache
cause: cache-without-bound method-cached lru-cache-on-method
"""

import functools
import os
import random
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FEATURES = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(8, 8, 3, padding=1)).to(DEVICE)
MIX = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(16, 3, 3, padding=1)).to(DEVICE)


@functools.lru_cache(maxsize=None)
def pyramid(frame, levels=4):
    """Features of a frame in some sizes."""
    found = [FEATURES(frame)]  # grows
    for _ in range(levels - 1):
        found.append(nn.functional.avg_pool2d(found[-1], 2))
    return found


def between(first, second):
    one, two = pyramid(first), pyramid(second)  # keeps
    drawn = MIX(torch.cat([one[-1], two[-1]], 1))
    for a, b in zip(one[-2::-1], two[-2::-1]):
        drawn = MIX(torch.cat([a, b], 1)) + nn.functional.interpolate(drawn, scale_factor=2)
    return (0.5 * (first + second) + 0.05 * drawn).clamp(0, 1)


class Film:
    """A film of some seconds, frame by frame."""

    def __init__(self, size=192):
        self.picture = torch.rand(1, 3, size, size)
        self.left = random.randint(20, 60)

    def __iter__(self):
        for _ in range(self.left):
            self.picture = self.picture.roll(random.randint(1, 3), -1)
            yield self.picture.to(DEVICE)


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    films = frames = 0
    while time.time() < end:
        last = None
        for frame in Film():
            if last is not None:
                drawn = between(last, frame)
                frames += 1
            last = frame
            time.sleep(0.08)
            if time.time() > end:
                break
        films += 1
        print(films, "films", frames, "frames", round(float(drawn.mean()), 3), flush=True)
        time.sleep(random.uniform(0, 1))


if __name__ == "__main__":
    main()
