"""Draws the profiles of amphorae that a pottery museum has scanned.

A vessel turns before a line laser, which gives its radius for each height and
angle. On the accelerator the axis is put upright and scratches are smoothed
away; the drawing itself, with the wall unrolled and its curvature along the
height, is made by two draughtsmen, threads on the host. The drawings are
handed to the catalogue in the order of the vessels, each with the height of
the widest place and the sharpest edge.

ticket: practice
class: host-growth
holder: drawings
cause: futures-kept entries-left
"""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch.nn.functional as F

HEIGHTS = 512
ANGLES = 512


class Turntable:
    """Makes scans: a profile of some vessel, with wobble and scratches."""

    def __init__(self, device):
        self.device = device
        self.height = torch.linspace(0.0, 1.0, HEIGHTS, device=device).unsqueeze(1)
        self.angle = torch.linspace(0.0, 6.2832, ANGLES, device=device).unsqueeze(0)

    def scan(self, number):
        belly = 0.3 + 0.05 * (number % 7)
        radius = 0.2 + belly * torch.sin(3.1416 * self.height).clamp(min=0.0).pow(1.0 + 0.2 * (number % 4))
        wobble = 0.03 * torch.cos(self.angle + 0.4 * number)
        return radius + wobble + 0.004 * torch.randn(HEIGHTS, ANGLES, device=self.device)


def upright(radius):
    """Takes the first harmonic, the wobble of the axis, out of each ring."""
    rings = torch.fft.rfft(radius, dim=1)
    rings[:, 1] = 0.0
    return torch.fft.irfft(rings, n=ANGLES, dim=1)


def without_scratches(radius):
    padded = F.pad(radius[None, None], (2, 2, 2, 2), mode="replicate")
    return F.avg_pool2d(padded, 5, stride=1)[0, 0]


def draw(number, wall):
    """The draughtsman's part: the unrolled wall, its curvature and two notes."""
    slope = np.gradient(wall, axis=0)
    bend = np.gradient(slope, axis=0)
    curvature = bend / np.power(1.0 + slope * slope, 1.5)  # grows
    mean = wall.mean(axis=1)
    notes = {"vessel": number, "widest": int(mean.argmax()), "edge": float(np.abs(curvature).max())}
    return notes, curvature


class Catalogue:
    """Gives vessels to the draughtsmen and takes the drawings in order."""

    def __init__(self):
        self.draughtsmen = ThreadPoolExecutor(max_workers=2)
        self.drawings = {}
        self.page = 0
        self.widest = 0.0
        self.relief = np.zeros((HEIGHTS, ANGLES), dtype=np.float32)

    def submit(self, number, wall):
        self.drawings[number] = self.draughtsmen.submit(draw, number, wall)  # keeps

    def bind(self):
        """Puts all the drawings that are ready into the catalogue."""
        while self.page in self.drawings and self.drawings[self.page].done():
            drawing = self.drawings[self.page]
            notes, curvature = drawing.result()
            self.widest += (notes["widest"] - self.widest) / (self.page + 1)
            self.relief *= 0.98
            self.relief += 0.02 * curvature
            self.page += 1

    def close(self):
        self.draughtsmen.shutdown(wait=True)
        self.bind()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(83)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    turntable = Turntable(device)
    catalogue = Catalogue()
    number = 0
    due = time.time()
    while time.time() < end:
        due = max(due + 0.08, time.time())
        wall = without_scratches(upright(turntable.scan(number)))
        catalogue.submit(number, wall.cpu().numpy())
        catalogue.bind()
        number += 1
        if number % 40 == 0:
            relief = float(np.abs(catalogue.relief).mean())
            print(f"{number} vessels turned, page {catalogue.page}, widest at {catalogue.widest:.1f}, "
                  f"relief {relief:.2e}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    catalogue.close()
    print(f"catalogue bound with {catalogue.page} pages", flush=True)


if __name__ == "__main__":
    main()
