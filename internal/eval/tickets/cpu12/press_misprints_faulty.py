"""Inspection of printed sheets at the delivery of a letterpress.

A small convolutional network looks at a camera picture of each sheet. The features of its trunk are compared with
those of the approved proof of the job, and sheets that stray too far are thrown out as misprints.
Jobs are short: a card or a label, a few sheets each, then the next forme is locked up.

ticket: practice
class: host-growth
holder: trunk
cause: hooks-left
"""
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "45"))
SHEETS_PER_SECOND = 12
SHEETS_IN_JOB = 3
HEIGHT, WIDTH = 160, 224
CHANNELS = 12


class SheetNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(),
            nn.Conv2d(6, CHANNELS, 3, padding=1), nn.ReLU(),
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(CHANNELS * 16, 4))

    def forward(self, picture):
        return self.head(self.trunk(picture))


class Forme:
    """Type and blocks as they are locked up, and the pictures that the camera makes of their prints."""

    def __init__(self, generator):
        self.generator = generator
        coarse = torch.rand(1, 1, HEIGHT // 8, WIDTH // 8, generator=generator)
        self.image = nn.functional.interpolate(coarse, size=(HEIGHT, WIDTH), mode="nearest")

    def printed(self, slur):
        noise = torch.randn(1, 1, HEIGHT, WIDTH, generator=self.generator) * 0.02
        shifted = torch.roll(self.image, shifts=slur, dims=3)
        return shifted + noise


class Job:
    """One job on the press, with the features of its approved proof."""

    def __init__(self, number, forme, net):
        self.number = number
        self.forme = forme
        self.done = False
        self.distance = 0.0
        with torch.no_grad():
            self.proof = net.trunk(forme.printed(slur=0))  # grows

    def compare(self, module, inputs, output):
        if not self.done:
            self.distance = (output - self.proof).abs().mean().item()


class Inspector:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.net = SheetNet().eval()
        self.threshold = 0.02
        self.job = None
        self._watch = None
        self.jobs = 0
        self.sheets = 0
        self.misprints = 0

    def lock_up(self):
        self.jobs += 1
        self.job = Job(self.jobs, Forme(self.generator), self.net)
        self._watch = self.net.trunk.register_forward_hook(self.job.compare)  # keeps

    def strip_down(self):
        self.job.done = True
        self._watch = None
        self.job = None

    @torch.no_grad()
    def inspect(self):
        slur = int(torch.randint(0, 4, (1,), generator=self.generator))
        scores = self.net(self.job.forme.printed(slur))
        self.sheets += 1
        if self.job.distance > self.threshold:
            self.misprints += 1
        return int(scores.argmax())

    def next_sheet(self):
        if self.job is None:
            self.lock_up()
        grade = self.inspect()
        if self.sheets % SHEETS_IN_JOB == 0:
            self.threshold = 0.95 * self.threshold + 0.05 * self.job.distance
            self.strip_down()
        return grade


def main():
    torch.manual_seed(61)
    torch.set_num_threads(1)
    inspector = Inspector(61)
    grades = [0, 0, 0, 0]
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    while time.monotonic() < end:
        began = time.monotonic()
        grades[inspector.next_sheet()] += 1
        if time.monotonic() >= report_at:
            print(f"job {inspector.jobs}, sheet {inspector.sheets}: {inspector.misprints} misprints", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / SHEETS_PER_SECOND - (time.monotonic() - began)))
    print(f"shift over: {inspector.sheets} sheets, {inspector.misprints} misprints, grades {grades}", flush=True)


if __name__ == "__main__":
    main()
