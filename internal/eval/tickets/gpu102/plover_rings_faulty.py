"""Reading of leg rings of plovers from the cameras of a wetland hide.

Cameras at the edge of the mud take pictures of the legs of feeding birds. Each picture goes through a page-locked
buffer to the device, where its sharpness is measured; a sharp one is compared with templates of the codes that the
ringing group has given out. The hide keeps a tally of the codes that were seen, for the resighting sheet of the day.

ticket: practice
class: host-growth
holder: _lent
cause: pinned-kept entries-left
"""
import os
import random
import time
from collections import Counter

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 1024
PATCH = 64
CODES = 1536
CAMERAS = 3
LEAST_SHARPNESS = 0.020
ROUNDS_PER_SECOND = 4
LETTERS = "ACEHJKLNPTUV"


def page_locked():
    """A buffer of the host for one picture, ready for copies that do not wait."""
    return torch.empty(SIDE, SIDE, dtype=torch.uint8, pin_memory=DEVICE == "cuda")  # grows


class Staging:
    """Buffers on their way to the device, used over and over."""

    def __init__(self):
        self._free = []
        self._lent = {}

    def lend(self, number):
        buffer = self._free.pop() if self._free else page_locked()
        self._lent[number] = buffer  # keeps
        return buffer

    def take_back(self, number):
        self._free.append(self._lent.pop(number))


class Camera:
    """Gives pictures of mud and legs; wind shakes some of them out of focus."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        coarse = torch.randint(40, 210, (1, 1, SIDE // 4, SIDE // 4), generator=generator).float()
        sharp = F.interpolate(coarse, size=(SIDE, SIDE), mode="nearest")
        soft = F.interpolate(coarse[..., ::16, ::16], size=(SIDE, SIDE), mode="bilinear", align_corners=False)
        self.scenes = (sharp[0, 0].to(torch.uint8), soft[0, 0].to(torch.uint8))

    def shoot(self, buffer):
        scene = self.scenes[1] if self.rng.random() < 0.55 else self.scenes[0]
        buffer.copy_(scene)
        row, column = self.rng.randrange(SIDE - PATCH), self.rng.randrange(SIDE - PATCH)
        return row, column


class RingReader:
    """Templates of the codes, and the comparison with a patch of a picture."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        templates = torch.randn(CODES, PATCH * PATCH, generator=generator, device=DEVICE)
        self.templates = F.normalize(templates, dim=1)
        self.edges = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]], device=DEVICE)

    def sharpness(self, picture):
        found = F.conv2d(picture[None, None], self.edges[None, None])
        return found.abs().mean().item()

    def read(self, picture, row, column):
        patch = picture[row : row + PATCH, column : column + PATCH].reshape(-1)
        scores = self.templates @ F.normalize(patch - patch.mean(), dim=0)
        best = int(scores.argmax().item())
        first, second = divmod(best, len(LETTERS) ** 2)
        third, fourth = divmod(second, len(LETTERS))
        return LETTERS[first % len(LETTERS)] + LETTERS[third] + LETTERS[fourth]


class Hide:
    """The cameras of one hide and what they have seen."""

    def __init__(self, seed):
        self.cameras = [Camera(seed + index) for index in range(CAMERAS)]
        self.reader = RingReader(seed + 100)
        self.staging = Staging()
        self.seen = Counter()
        self.pictures = 0
        self.soft = 0

    def handle(self, camera):
        number = self.pictures
        self.pictures += 1
        buffer = self.staging.lend(number)
        row, column = camera.shoot(buffer)
        picture = buffer.to(DEVICE, non_blocking=True).float() / 255.0
        if self.reader.sharpness(picture) < LEAST_SHARPNESS:
            self.soft += 1
            return
        self.seen[self.reader.read(picture, row, column)] += 1
        self.staging.take_back(number)

    def round(self):
        for camera in self.cameras:
            self.handle(camera)


def main():
    torch.set_num_threads(1)
    hide = Hide(seed=64)
    started = time.monotonic()
    next_print = started + 2.0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        hide.round()
        if beat >= next_print:
            often = ", ".join(f"{code} x{count}" for code, count in hide.seen.most_common(3))
            print(f"{hide.pictures} pictures, {hide.soft} too soft, most seen {often}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"light gone: {sum(hide.seen.values())} readings of {len(hide.seen)} rings", flush=True)


if __name__ == "__main__":
    main()
