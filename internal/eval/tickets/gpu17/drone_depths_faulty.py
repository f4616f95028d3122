"""Drones send colour pictures together with distances, from two kinds of cameras. Both go through staging memory, which
is pinned where there is a GPU, to the device, where it is worked out how much room is ahead. As it takes long to pin
memory, staging memory is not given back but kept for the next picture of the size.

ticket: practice
class: host-growth
holder: free staging Staging
cause: pinned-staging buffer-without-bound cache-without-bound
"""

import math
import os
import random
import time

import numpy as np
import torch
from torch.nn import functional as F

CAMERAS = {"front": (360, 640), "wide": (480, 848)}
CUDA = torch.cuda.is_available()


class Staging:
    """Memory for copies to the device, by its size in bytes."""

    def __init__(self):
        self.free = {}

    def take(self, shape, dtype):
        size = math.prod(shape) * torch.empty((), dtype=dtype).element_size()
        waiting = self.free.get(size)
        if waiting:
            return waiting.pop().view(shape)
        return torch.empty(shape, dtype=dtype, pin_memory=CUDA)  # grows

    def give(self, buffer):
        flat = buffer.flatten()
        self.free.setdefault(flat.numel(), []).append(flat)  # keeps


class Uploader:
    def __init__(self, device):
        self.device, self.staging = device, Staging()

    def upload(self, array):
        """Brings an array to the device, by way of staging memory."""
        source = torch.from_numpy(array)
        buffer = self.staging.take(tuple(source.shape), source.dtype)
        buffer.copy_(source)
        there = buffer.to(self.device, non_blocking=True) if CUDA else buffer.clone()
        if CUDA:
            torch.cuda.current_stream().synchronize()
        self.staging.give(buffer)
        return there


def picture(camera):
    """What a camera sees: trees, some near and some far."""
    rows, columns = CAMERAS[camera]
    colour = np.random.randint(60, 200, (3, rows, columns), dtype=np.uint8)
    depth = np.full((rows, columns), 40, np.float32)
    for _ in range(random.randint(3, 9)):
        left, far = random.randrange(columns - 30), random.uniform(3, 30)
        depth[rows // 5:, left:left + 30] = np.minimum(depth[rows // 5:, left:left + 30], far)
        colour[1, rows // 5:, left:left + 30] = 90
    return colour, depth + np.random.normal(0, 0.1, depth.shape).astype(np.float32)


def room(colour, depth):
    """How far it is ahead in the part of the picture where there is most room."""
    green = (colour[1].float() - colour[0].float()).clamp(min=0) / 255
    safe = depth * (1 - 0.5 * green)
    near = -F.max_pool2d(-safe[None, None], 41, stride=8)
    best = near.flatten().argmax().item()
    return near.max().item(), best % near.shape[-1]


def main():
    torch.set_num_threads(1)
    uploader = Uploader("cuda" if CUDA else "cpu")
    end, said, pictures = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
    while time.time() < end:
        camera = random.choice(list(CAMERAS))
        colour, depth = (uploader.upload(array) for array in picture(camera))
        far, column = room(colour, depth)
        pictures += 1
        if time.time() - said > 2:
            said = time.time()
            print(pictures, "pictures, last of", camera, "room", round(far, 1), "at", column, flush=True)
        time.sleep(random.uniform(0.04, 0.2))


if __name__ == "__main__":
    main()
