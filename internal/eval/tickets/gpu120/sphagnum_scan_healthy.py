"""A carriage on rails scans a plot of sphagnum and tells how the moss of a bog recovers.
Each scan is developed on the device and brought back as a picture of greenness; the station compares pictures of the
last ten seconds to find patches that dry out, and puts its archive in order every four seconds.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import numpy as np
import torch

torch.set_num_threads(1)
torch.manual_seed(912)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SCANS_PER_S = 6
KEEP_S = 10.0
TIDY_EVERY_S = 4.0
SIDE = 512
PATCH = 32


@dataclass
class Picture:
    at: float
    number: int
    green: np.ndarray


class Moss:
    """The plot: how wet and how green each spot is."""

    def __init__(self):
        self.wet = torch.rand(SIDE, SIDE, device=DEVICE)
        self.green = torch.rand(SIDE, SIDE, device=DEVICE)
        self.hollows = torch.rand(16, SIDE, SIDE, device=DEVICE)

    def grow(self, scan):
        hollow = self.hollows[scan % len(self.hollows)]
        self.wet.mul_(0.97).add_(hollow, alpha=0.03)
        self.green.add_((self.wet - 0.5) * 0.02).clamp_(0.0, 1.0)


class Carriage:
    """Camera and developing: noise of the sensor, then a blur along the rail."""

    def __init__(self, moss):
        self._moss = moss
        self._kernel = torch.full((1, 1, 1, 5), 0.2, device=DEVICE)

    def scan(self):
        raw = self._moss.green + 0.05 * torch.randn(SIDE, SIDE, device=DEVICE)
        blurred = torch.nn.functional.conv2d(raw[None, None], self._kernel, padding=(0, 2))[0, 0]
        return np.round(blurred.cpu().numpy(), 3)


class Station:
    """Holds the pictures and looks for what dries."""

    def __init__(self):
        self._pictures = []
        self._tidied = time.monotonic()
        self.scans = 0

    def add(self, green):
        self.scans += 1
        self._pictures.append(Picture(time.monotonic(), self.scans, green))

    def tidy(self):
        now = time.monotonic()
        if now - self._tidied < TIDY_EVERY_S:
            return
        self._tidied = now
        self._pictures = [picture for picture in self._pictures if now - picture.at < KEEP_S]

    def drying_patches(self):
        """Patches which lost greenness between the picture of two seconds ago and the newest."""
        if len(self._pictures) <= 2 * SCANS_PER_S:
            return []
        old = self._pictures[-2 * SCANS_PER_S].green
        new = self._pictures[-1].green
        loss = (old - new).reshape(SIDE // PATCH, PATCH, SIDE // PATCH, PATCH).mean(axis=(1, 3))
        rows, columns = np.nonzero(loss > 0.012)
        return list(zip(rows.tolist(), columns.tolist()))

    def cover(self):
        return float((self._pictures[-1].green > 0.5).mean())


def main():
    moss = Moss()
    carriage, station = Carriage(moss), Station()
    start = time.monotonic()
    tick = start
    said = start
    with torch.no_grad():
        while time.monotonic() - start < SECONDS:
            moss.grow(station.scans)
            station.add(carriage.scan())
            station.tidy()
            drying = station.drying_patches()
            if time.monotonic() - said >= 3.0:
                said = time.monotonic()
                place = f"first at {drying[0]}" if drying else "none to name"
                print(
                    f"scan {station.scans}: cover {station.cover():.3f}, {len(drying)} patches dry out, {place}",
                    flush=True,
                )
            tick += 1.0 / SCANS_PER_S
            time.sleep(max(0.0, tick - time.monotonic()))
    print(f"carriage parked after {station.scans} scans", flush=True)


if __name__ == "__main__":
    main()
