"""A runner of jobs makes what a press needs out of pictures for postcards: four sheets, one for each ink, in dots. The
sheets that a job works on are wiped when they are given back, and so that they are given back whatever happens, they
are taken in a context. The runner has an exit stack as well, for what it needs from its start to its end.

ticket: practice
class: none
"""

import collections
import contextlib
import math
import os
import random
import time

import torch

HIGH, WIDE, INKS = 640, 896, 4
ANGLES = 15, 75, 0, 45  # of the dots of each ink, in degrees

Job = collections.namedtuple("Job", "number picture copies")


@contextlib.contextmanager
def clean_sheets(device):
    """Sheets for the inks, which are wiped afterwards as customers' pictures must not stay."""
    sheets = torch.zeros(INKS, HIGH, WIDE, device=device)
    try:
        yield sheets
    finally:
        sheets.zero_()


def screens(device):
    """For each ink, how dark it has to be at each place for a dot."""
    down, across = torch.meshgrid(torch.arange(HIGH, device=device), torch.arange(WIDE, device=device), indexing="ij")
    turned = []
    for angle in ANGLES:
        sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
        wave = torch.cos((across * cosine + down * sine) * 0.8) * torch.cos((down * cosine - across * sine) * 0.8)
        turned.append(0.5 + 0.5 * wave)
    return torch.stack(turned)


def separate(picture, sheets):
    """Red, green and blue to cyan, magenta, yellow and black."""
    black = 1 - picture.amax(0)
    sheets[3] = black
    sheets[:3] = (1 - picture - black) / (1 - black).clamp(min=1e-3)


def customer(number, device):
    """A sunset over the sea, as on most postcards."""
    height = torch.linspace(0, 1, HIGH, device=device)[:, None].expand(HIGH, WIDE)
    tint = torch.rand(3, 1, 1, device=device)
    picture = (height * tint + 0.2 * torch.sin(40 * height)).clamp(0, 1)
    return Job(number, picture, random.choice((50, 100, 500)))


class Runner:
    def __init__(self, device):
        self.device, self.screens = device, screens(device)
        self.stack = contextlib.ExitStack()
        self.stack.callback(print, "the press has stopped", flush=True)
        self.ink, self.copies = [0.0] * INKS, 0

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return self.stack.__exit__(*failure)

    def run(self, job):
        with clean_sheets(self.device) as sheets:
            separate(job.picture, sheets)
            dots = sheets > self.screens
            for ink, share in enumerate(dots.float().mean((1, 2)).tolist()):
                self.ink[ink] += share * job.copies
        self.copies += job.copies


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end, number, said = time.time() + float(os.environ.get("SECONDS", "45")), 0, time.time()
    with Runner(device) as runner:
        while time.time() < end:
            number += 1
            runner.run(customer(number, device))
            if time.time() - said > 2:
                said = time.time()
                print("jobs", number, "copies", runner.copies, "ink", [round(ink) for ink in runner.ink], flush=True)
            time.sleep(random.uniform(0.3, 1.1))


if __name__ == "__main__":
    main()
