"""Silent films are cleaned of dust and scratches, reel after reel. A frame is compared with the few before it: what is
in one of them only is dirt. A reel has its frames with it till the end, when they are used once more, to make the
brightness even; then comes the next reel, a new object.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch.nn import functional as F

HIGH, WIDE, BEFORE = 360, 480, 4


class Reel:
    """A strip of film, cleaned as it comes."""

    def __init__(self, title, device, frames=None):
        self.title, self.device = title, device
        self.frames = [] if frames is None else frames
        self.dirt = self.length = 0

    def clean(self, frame):
        frame = frame.to(self.device)
        near = torch.stack([frame] + self.frames[-BEFORE:])
        usual = near.median(0).values
        dirty = (frame - usual).abs() > 0.35
        dirty = F.max_pool2d(dirty.float()[None, None], 3, 1, 1)[0, 0] > 0
        cleaned = torch.where(dirty, usual, frame)
        self.frames.append(cleaned)
        self.dirt += int(dirty.sum())
        self.length += 1
        return cleaned

    def even(self):
        """The brightness that the frames of the reel should have, and how far they are from it."""
        bright = torch.stack([frame.mean() for frame in self.frames[-self.length:]])
        return float(bright.mean()), float((bright - bright.mean()).abs().max())


class Projector:
    """An old film: a shape that walks over the screen, flickering light, dust and scratches."""

    def __init__(self):
        self.column, self.light = random.randrange(WIDE), random.uniform(0.4, 0.6)

    def frame(self):
        picture = torch.full((HIGH, WIDE), self.light + random.uniform(-0.05, 0.05))
        self.column = (self.column + 3) % (WIDE - 40)
        picture[120:300, self.column:self.column + 40] = 0.15
        for _ in range(random.randint(0, 12)):
            row, column = random.randrange(HIGH - 8), random.randrange(WIDE - 8)
            picture[row:row + random.randint(2, 8), column:column + random.randint(2, 8)] = 1.0
        if random.random() < 0.3:
            picture[:, random.randrange(WIDE)] = 0.95
        return picture.add_(0.02 * torch.randn(HIGH, WIDE)).clamp_(0, 1)


def restore(title, device, end):
    reel, projector = Reel(title, device), Projector()
    for _ in range(random.choice((12, 16, 20, 24))):
        reel.clean(projector.frame())
        time.sleep(random.uniform(0.02, 0.12))
        if time.time() > end:
            break
    return reel


def main():
    torch.set_num_threads(1)
    device, reels = "cuda" if torch.cuda.is_available() else "cpu", 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        reel = restore("reel %d" % (reels + 1), device, end)
        bright, off = reel.even()
        reels += 1
        print(reel.title, "frames", reel.length, "dirt", reel.dirt, "brightness", round(bright, 3), "+-", round(off, 3),
              flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
