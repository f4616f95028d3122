"""A drone flies over solar parks and a network finds the hot spots in its infrared pictures. Each park has panels, and
so pictures, of another size; it works in a memory pool of its own, so that the odd sizes of one park do not break up
the memory of the next. A line for each park says how many hot spots it has.

ticket: practice
class: none
"""

import contextlib
import itertools
import os
import random
import time

import torch
from torch import nn

STRIPS, HEIGHTS, WIDTHS = 6, (224, 256, 288), (288, 320, 352)


class HotspotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inwards = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4))
        self.bottom = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.outwards = nn.Sequential(nn.Upsample(scale_factor=4), nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, pictures):
        return self.outwards(self.bottom(self.inwards(pictures)))


class Park:
    """A solar park: the size of its pictures, its memory and what has been found."""

    def __init__(self, device):
        self.device = device
        self.size = random.choice(HEIGHTS), random.choice(WIDTHS)
        self.pool = torch.cuda.MemPool() if device == "cuda" else None
        self.hotspots = 0

    def memory(self):
        if self.pool is None:
            return contextlib.nullcontext()
        return torch.cuda.use_mem_pool(self.pool)

    def strip(self):
        """The picture of one row of panels."""
        return 20.0 + 5.0 * torch.randn(1, 1, *self.size)


class Survey:
    def __init__(self, device):
        self.device = device
        self.model = HotspotNet().to(device).eval()
        self.parks = {}

    def open(self, number):
        self.parks[number] = Park(self.device)

    @torch.inference_mode()
    def look(self, number):
        """Adds the hot spots of a strip to those of its park."""
        park = self.parks[number]
        picture = park.strip()
        with park.memory():
            warmth = self.model(picture.to(self.device))
            peaks = warmth > warmth.mean() + 3.5 * warmth.std()
            park.hotspots += int(peaks.sum())

    def close(self, number):
        """The line of the report for a park that is done."""
        park = self.parks.pop(number)
        height, width = park.size
        return f"park {number}: {park.hotspots} hot points in pictures of {height} x {width}"


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    survey = Survey(device)
    with torch.inference_mode():
        survey.model(torch.zeros(1, 1, HEIGHTS[0], WIDTHS[0], device=device))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number in itertools.count(1):
        survey.open(number)
        for _ in range(STRIPS):
            survey.look(number)
            time.sleep(random.uniform(0.1, 0.2))
        print(survey.close(number), flush=True)
        if time.time() >= end:
            break


if __name__ == "__main__":
    main()
