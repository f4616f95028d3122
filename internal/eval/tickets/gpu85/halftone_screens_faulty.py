"""Raster image processor of a newspaper's press: from colour pages to dots.

A job is a section of the paper, four pages long.  Each page is taken from the
screen's red, green and blue to the press's four inks (with the black taken
out of the colours), corrected for the growth of the dots on newsprint, and set
against a rotated threshold screen for each ink.  What comes out is one bit for
each dot and ink, and the share of the sheet that each ink covers, from which the
press sets its ink keys.  Each job runs on its own in the device's queue, apart
from the desk's other work, and a job is over before the next is taken up.

ticket: practice
class: pool-growth
holder: -
cause: pool-for-each-stream
"""
import contextlib
import math
import os
import time

import torch
import torch.nn.functional as F

HIGH, WIDE = 768, 512
PAGES = 4
ANGLES = (15.0, 75.0, 0.0, 45.0)
PERIOD = 6.0
JOB_PACE = 1.35

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def threshold_screens():
    """One screen for each ink, turned by its angle, values between nought and one."""
    down, across = torch.meshgrid(torch.arange(HIGH).float(), torch.arange(WIDE).float(), indexing="ij")
    screens = []
    for angle in ANGLES:
        turn = math.radians(angle)
        u = (math.cos(turn) * across + math.sin(turn) * down) * (2.0 * math.pi / PERIOD)
        v = (math.cos(turn) * down - math.sin(turn) * across) * (2.0 * math.pi / PERIOD)
        screens.append((torch.cos(u) + torch.cos(v)) / 4.0 + 0.5)
    return torch.stack(screens).to(device)


class Lane:
    """A queue of the device on which one job runs from its first page to its last."""

    def __init__(self):
        self.stream = torch.cuda.Stream() if device.type == "cuda" else None

    def entered(self):
        if self.stream is None:
            return contextlib.nullcontext()
        return torch.cuda.stream(self.stream)

    def finish(self):
        if self.stream is not None:
            self.stream.synchronize()


class Processor:
    def __init__(self, black=0.8, growth=0.18):
        self.black = black
        self.growth = growth
        self.screens = threshold_screens()
        self.weights = torch.tensor([8, 4, 2, 1], dtype=torch.uint8, device=device).view(4, 1, 1)
        if device.type == "cuda":
            torch.cuda.synchronize()

    def separate(self, picture):
        """Red, green and blue to cyan, magenta, yellow and black."""
        inks = 1.0 - picture
        black = inks.amin(dim=0, keepdim=True) * self.black
        coloured = (inks - black) / (1.0 - black).clamp(min=0.05)
        return torch.cat([coloured, black]).clamp(0.0, 1.0)

    def flatten_dots(self, inks):
        """Take back what the dots will gain on the paper."""
        around = F.avg_pool2d(inks[None], 3, stride=1, padding=1)[0]
        gain = self.growth * 4.0 * around * (1.0 - around)
        return (inks - gain).clamp(0.0, 1.0)

    def page(self, picture):
        inks = self.separate(picture.to(device))
        inks = self.flatten_dots(inks)
        dots = inks > self.screens
        packed = (dots * self.weights).sum(dim=0, dtype=torch.uint8)
        coverage = dots.float().mean(dim=(1, 2))
        return packed.cpu(), coverage.tolist()

    def job(self, pictures):
        """All pages of a section; gives the mean coverage of each ink."""
        totals = [0.0] * 4
        marks = 0
        lane = Lane()  # keeps
        with lane.entered():
            for picture in pictures:
                packed, coverage = self.page(picture)  # grows
                marks += int(packed.count_nonzero())
                totals = [total + share for total, share in zip(totals, coverage)]
        lane.finish()
        return [total / len(pictures) for total in totals], marks


def section(generator):
    """The pages of one section: blocks of type and soft pictures."""
    pictures = []
    for _ in range(PAGES):
        coarse = torch.rand(1, 3, 24, 16, generator=generator)
        soft = F.interpolate(coarse, size=(HIGH, WIDE), mode="bilinear", align_corners=False)[0]
        soft[:, ::16] *= 0.3
        pictures.append(soft)
    return pictures


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(12)
    processor = Processor()

    jobs = 0
    next_job = time.time()
    while time.time() < deadline:
        coverage, marks = processor.job(section(generator))
        jobs += 1
        if jobs % 3 == 0:
            shares = ", ".join(f"{ink} {share:.0%}" for ink, share in zip("CMYK", coverage))
            print(f"section {jobs} screened: {shares}; {marks} places with ink", flush=True)
        next_job += JOB_PACE
        time.sleep(max(0.0, next_job - time.time()))

    print(f"{jobs} sections on their way to the plates", flush=True)


if __name__ == "__main__":
    main()
