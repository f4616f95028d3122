"""A hospital's night job measures the cartilage in magnetic resonance scans of knees. Scans of patients who moved, and
scans that are too dark, are set aside with the reason, so that somebody can look at them in the morning. The job prints
how many were measured and why the others were set aside.

ticket: practice
class: app-leak
holder: aside traceback frame error
cause: exception-kept tracebacks-kept
"""

import os
import random
import time
from collections import Counter

import torch
from torch import nn
from torch.nn import functional as F

SLICES, SIDE, WIDTH = 24, 112, 8
JUMP, DARK = 0.12, 0.25


class ScanError(ValueError):
    pass


class CartilageNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, WIDTH, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(),
            nn.Conv2d(WIDTH, 1, 1),
        )

    def forward(self, volume):
        return self.layers(volume).sigmoid()


def read(number, device):
    """Stands for the archive: a bright disc in each slice, some scans with a jolt, some dark."""
    rows, columns = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    disc = (rows.square() + columns.square() < random.uniform(0.5, 0.8)).float()
    volume = disc.repeat(SLICES, 1, 1) + 0.02 * torch.randn(SLICES, SIDE, SIDE)
    fate = random.random()
    if fate < 0.25:
        cut = random.randrange(4, SLICES - 4)
        volume[cut:] = volume[cut:].roll(random.randint(20, 40), dims=1)
    elif fate < 0.4:
        volume *= 0.3
    return volume.to(device)


def prepare(volume):
    """Smooths the scan and makes it even. Raises a ScanError if it is not fit to be measured."""
    smooth = F.avg_pool2d(volume[:, None], 3, stride=1, padding=1)  # grows
    if smooth.mean() < DARK:
        raise ScanError("too dark")
    steps = (smooth[1:] - smooth[:-1]).abs()  # grows
    if steps.mean(dim=(1, 2, 3)).max() > JUMP:
        raise ScanError("patient moved")
    return (smooth - smooth.mean()) / smooth.std()


@torch.no_grad()
def measure(model, number, device):
    volume = read(number, device)  # grows
    cartilage = model(prepare(volume)) > 0.5
    return cartilage.float().mean().item()


class Night:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.measured, self.aside = 0, {}

    def scan(self, number):
        try:
            share = measure(self.model, number, self.device)
        except ScanError as error:
            self.aside[number] = error  # keeps
        else:
            self.measured += 1
            if self.measured % 10 == 0:
                print(f"scan {number}: cartilage {share:.3f}; {self}", flush=True)

    def __str__(self):
        reasons = Counter(str(error) for error in self.aside.values())
        return f"{self.measured} measured, set aside: {dict(reasons)}"


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    night, number = Night(CartilageNet().to(device).eval(), device), 0
    while time.time() < end:
        night.scan(number)
        number += 1
        time.sleep(random.uniform(0.05, 0.2))
    print(night)


if __name__ == "__main__":
    main()
