"""Shows how a glacier melts in the course of a season. A camera adds a photo every now and then, and after each one the
melt map is drawn anew: how far, on average over all photos of the season so far, each spot is from the first photo.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch.nn import functional as F

HEIGHT, WIDTH, FIRST, EVERY, CHUNK = 256, 512, 24, 0.38, 24


class Archive:
    """The photos on the disk, which can be read again at any time."""

    def __init__(self, count):
        self.count = count
        self.rows = torch.linspace(0, 1, HEIGHT)[:, None]
        self.noise = torch.rand(2 * HEIGHT, 2 * WIDTH)

    def photo(self, number):
        """The ice is bright, and its edge goes up a little from photo to photo."""
        edge = 0.8 - 0.5 * number / (number + 200)
        top, left = (37 * number) % HEIGHT, (91 * number) % WIDTH
        return (self.rows < edge).float() + 0.3 * self.noise[top:top + HEIGHT, left:left + WIDTH]


def melt_map(archive, reference):
    """The mean distance of each spot from the reference."""
    chunk = torch.empty(CHUNK, *reference.shape, device=reference.device)
    total = torch.zeros_like(reference)
    for start in range(0, archive.count, CHUNK):
        numbers = range(start, min(start + CHUNK, archive.count))
        for place, number in enumerate(numbers):
            chunk[place] = archive.photo(number)
        total += chunk[:len(numbers)].sub_(reference).abs_().sum(dim=0)
    return total / archive.count


def describe(melt):
    """The share of the picture that has changed, and the row that has changed most."""
    smooth = F.avg_pool2d(melt[None, None], 9, stride=1, padding=4)[0, 0]
    return (smooth > 0.3).float().mean().item(), int(smooth.mean(dim=1).argmax())


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    archive = Archive(FIRST)
    reference = archive.photo(0).to(device)
    due = time.time()
    end = due + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        share, row = describe(melt_map(archive, reference))
        if archive.count % 10 == 0:
            print(f"photo {archive.count}: {share:.1%} changed, most in row {row}", flush=True)
        due += EVERY * random.uniform(0.9, 1.1)
        time.sleep(max(0.02, due - time.time()))
        archive.count += 1


if __name__ == "__main__":
    main()
